"""What this machine can do, and what to install for the rest.

Each check really tries the thing (imports the package, makes the GL context, compiles and runs a
kernel) and never raises: a broken install is an answer, not a crash.
"""

import contextlib
import dataclasses
import importlib
import importlib.metadata
import io
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType

import saddle
from saddle.errors import first_line
from saddle.extras import DISTRIBUTION, install
from saddle.machine import cores

PROBE_SECONDS = 60  # a first GL context on a cold machine takes a few
GL_PROBE = "import mujoco, os; mujoco.GLContext(16, 16).make_current(); os._exit(0)"


@dataclass(frozen=True)
class Finding:
    """One line of the report."""

    group: str  # machine, software, engines, pictures, tools
    name: str
    ok: bool
    detail: str  # what there is, or why not
    advice: str = ""  # what to install; empty when there is nothing to do


def examine() -> list[Finding]:
    """Look at the machine. Takes a few seconds: imports JAX and MuJoCo, compiles, starts a process
    per GL backend.
    """
    return [*_machine(), *_software(), *_engines(), *_pictures(), *_tools()]


def _required(package: str) -> str:
    """How to install a package in a version that Saddle takes, as its own metadata has it."""
    try:
        requirements = importlib.metadata.requires(DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError:  # run from its source, without an install
        requirements = []
    for requirement in requirements:
        wanted = requirement.partition(";")[0].strip()
        if re.split(r"[^\w-]", wanted)[0] == package:
            return f"pip install '{wanted}'"
    return f"pip install {package}"


def _machine() -> Iterator[Finding]:
    cpu = f"{cores()} cores, {platform.machine()}, {platform.system()}"
    yield Finding("machine", "cpu", True, cpu)
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    yield Finding("machine", "memory", True, f"{gib:.1f} GiB")
    cards = _nvidia_cards()
    accelerators = _accelerators()
    if accelerators:
        yield Finding("machine", "gpu", True, ", ".join(cards or accelerators))
    elif cards:
        why = f"{', '.join(cards)}, but JAX cannot use it"
        yield Finding("machine", "gpu", False, why, install("cuda"))
    else:
        yield Finding("machine", "gpu", False, "none; everything runs on the CPU")


def _software() -> Iterator[Finding]:
    yield Finding("software", "saddle", True, saddle.__version__)
    python = f"{platform.python_version()}, {platform.python_implementation()}"
    yield Finding("software", "python", True, python)
    yield _jax()


def _engines() -> Iterator[Finding]:
    yield _package("engines", "mujoco", "mujoco", _required("mujoco"))
    yield _package(
        "engines",
        "llvm",
        "llvmlite",
        f"{_required('llvmlite')}; contacts on a CPU are slow without it",
    )
    yield _kernels()
    mjx = _package("engines", "mjx-jax", "mujoco.mjx", install("mjx"))
    yield mjx
    warp = _package("engines", "mjx-warp", "warp", install("cuda"))
    if warp.ok and not mjx.ok:
        yield dataclasses.replace(warp, ok=False, detail="needs mjx", advice=mjx.advice)
    elif warp.ok and not _accelerators():
        detail = f"{warp.detail}; without an NVIDIA GPU it is slow, and for checks"
        yield dataclasses.replace(warp, detail=detail)
    else:
        yield warp


def _pictures() -> Iterator[Finding]:
    yield _gl("egl", "libegl1 (Debian, Ubuntu) or the GPU driver's EGL")
    yield _gl("osmesa", "libosmesa6 (Debian, Ubuntu)")
    yield _video()


def _tools() -> Iterator[Finding]:
    yield _package("tools", "ray", "ray", install("ray"))
    yield _package("tools", "tensorboard", "tensorboardX", install("tensorboard"))


def _kernels() -> Finding:
    """Whether the hand-written kernels for the device that JAX runs on may run, and what says
    no.
    """
    try:
        from saddle.accelerate import gate

        answers = {kind: gate.answer(kind) for kind in gate.kinds()}
    except Exception as error:  # a value that SADDLE_KERNELS cannot have, too
        return Finding("engines", "kernels", False, first_line(error))
    if not answers:
        none = "there are none for this device; plain JAX runs"
        return Finding("engines", "kernels", False, none)
    if all(found.allowed for found in answers.values()):
        right = f"on; {', '.join(answers)}: a kernel compiles and is right"
        return Finding("engines", "kernels", True, right)
    if any(found.by == "switch" for found in answers.values()):
        off = "off by the switch SADDLE_KERNELS=off; plain JAX runs, slower"
        return Finding("engines", "kernels", False, off)
    reasons = [f"{kind}: {found.why}" for kind, found in answers.items() if not found.allowed]
    why = f"off by the probe, plain JAX runs, many times slower; {'; '.join(reasons)}"
    return Finding("engines", "kernels", False, why, _required("jax"))


def _nvidia_cards() -> list[str]:
    """Name and memory of each card the driver sees."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return []
    query = [tool, "--query-gpu=name,memory.total", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=PROBE_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return done.stdout.strip().splitlines() if done.returncode == 0 else []


def _accelerators() -> list[str]:
    """Kinds of the devices other than the CPU that JAX can use."""
    try:
        import jax

        return [device.device_kind for device in jax.devices() if device.platform != "cpu"]
    except Exception:
        return []


def _jax() -> Finding:
    try:
        import jax

        devices = jax.devices()
    except Exception as error:
        return Finding("software", "jax", False, first_line(error), _required("jax"))
    detail = f"{jax.__version__} on {len(devices)} x {devices[0].device_kind}"
    return Finding("software", "jax", True, detail)


def _package(group: str, name: str, module: str, advice: str) -> Finding:
    """Whether a package imports, and its version."""
    try:
        # MJX prints that Warp is missing, which JSON cannot bear.
        with contextlib.redirect_stdout(io.StringIO()):
            found = importlib.import_module(module)
    except ModuleNotFoundError:
        return Finding(group, name, False, "not installed", advice)
    except Exception as error:
        why = f"installed, but does not import: {first_line(error)}"
        return Finding(group, name, False, why, advice)
    return Finding(group, name, True, _version(found))


def _version(module: ModuleType) -> str:
    """A module's version, else that of the package that it is a part of."""
    root = sys.modules[module.__name__.partition(".")[0]]
    for one in (module, root):
        if hasattr(one, "__version__"):
            return str(one.__version__)
    return "version unknown"


def _gl(backend: str, library: str) -> Finding:
    """Whether MuJoCo can render without a screen through this backend. Choosing one is per process,
    hence a new one.
    """
    environment = {**os.environ, "MUJOCO_GL": backend}
    probe = [sys.executable, "-c", GL_PROBE]
    try:
        done = subprocess.run(probe, env=environment, capture_output=True, timeout=PROBE_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("pictures", backend, False, f"no answer: {first_line(error)}", library)
    if done.returncode != 0:
        return Finding("pictures", backend, False, "no GL context could be made", library)
    renders = f"MuJoCo renders without a screen with MUJOCO_GL={backend}"
    return Finding("pictures", backend, True, renders)


def _video() -> Finding:
    try:
        import imageio_ffmpeg

        ffmpeg = imageio_ffmpeg.get_ffmpeg_version()
    except Exception as error:
        why = f"no .mp4: {first_line(error)}"
        return Finding("pictures", "video", False, why, install("video"))
    encoder = f"imageio-ffmpeg {imageio_ffmpeg.__version__}, ffmpeg {ffmpeg}"
    return Finding("pictures", "video", True, encoder)
