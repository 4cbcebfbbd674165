"""`saddle doctor`: a report whatever the machine has, and advice exactly where something can be
installed.
"""

import json
import subprocess
import sys
from types import ModuleType, SimpleNamespace

import jax
import pytest

from saddle import doctor
from saddle.accelerate import cpu_kernel, gate
from saddle.accelerate.compiler import scalars
from saddle.accelerate.compiler.llvm import Program
from saddle.doctor import Finding
from saddle.verbs import doctor as verb

NAMES = ["cpu", "memory", "gpu", "saddle", "python", "jax"]
NAMES += [
    "mujoco",
    "llvm",
    "kernels",
    "mjx-jax",
    "mjx-warp",
    "egl",
    "osmesa",
    "video",
    "ray",
    "tensorboard",
]


@pytest.fixture(scope="module")
def report() -> dict[str, Finding]:
    return {finding.name: finding for finding in doctor.examine()}


def fake_import(monkeypatch, **modules: str | Exception | None):
    """Make importlib find these modules at these versions, raise these errors, or (None) find
    nothing.
    """

    def load(name: str) -> ModuleType:
        found = modules.get(name.replace(".", "_"))
        if found is None:
            raise ModuleNotFoundError(name)
        if isinstance(found, Exception):
            raise found
        module = ModuleType(name)
        module.__dict__["__version__"] = found
        monkeypatch.setitem(sys.modules, name.partition(".")[0], module)
        return module

    monkeypatch.setattr(doctor.importlib, "import_module", load)
    monkeypatch.setattr(gate, "answer", lambda kind: gate.Answer(True))


def engines() -> dict[str, Finding]:
    return {finding.name: finding for finding in doctor._engines()}


def test_examine_covers_everything(report):
    assert list(report) == NAMES
    assert report["jax"].ok and report["mujoco"].ok
    assert report["mujoco"].detail.startswith("3.17.")


def test_advice_is_only_given_for_what_is_missing(report):
    assert not [finding for finding in report.values() if finding.ok and finding.advice]
    assert all(finding.advice for finding in report.values() if finding.detail == "not installed")


def test_engines_that_are_all_there(monkeypatch):
    fake_import(monkeypatch, mujoco="3.17.0", llvmlite="0.50.0", mujoco_mjx="3.17.0", warp="1.18.0")
    monkeypatch.setattr(doctor, "_accelerators", lambda: ["NVIDIA H200"])
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert [(f.name, f.ok, f.detail, f.advice) for f in engines().values()] == [
        ("mujoco", True, "3.17.0", ""),
        ("llvm", True, "0.50.0", ""),
        ("kernels", True, "on; ptx, triton: a kernel compiles and is right", ""),
        ("mjx-jax", True, "3.17.0", ""),
        ("mjx-warp", True, "1.18.0", ""),
    ]


@pytest.fixture
def anew():
    """Programs of kernels are written and probed again, whatever was compiled before."""
    cpu_kernel.compiled.cache_clear()
    gate.forget()
    yield
    cpu_kernel.compiled.cache_clear()
    gate.forget()


@pytest.mark.newest
def test_kernels_work_here(anew):
    assert engines()["kernels"] == Finding(
        "engines", "kernels", True, "on; llvm: a kernel compiles and is right"
    )


def test_kernels_that_are_switched_off(monkeypatch):
    monkeypatch.setenv("SADDLE_KERNELS", "off")
    kernels = engines()["kernels"]
    assert not kernels.ok and kernels.detail.startswith("off by the switch SADDLE_KERNELS=off")
    assert kernels.advice == ""


def test_a_switch_that_means_nothing(monkeypatch):
    monkeypatch.setenv("SADDLE_KERNELS", "no")
    kernels = engines()["kernels"]
    assert not kernels.ok and "SADDLE_KERNELS is 'no'; set it to auto" in kernels.detail


def test_a_device_without_kernels(monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: "tpu")
    assert engines()["kernels"].detail.startswith("there are none for this device")


def test_a_kernel_that_cannot_be_compiled(monkeypatch, anew):
    def refuse(name, params):
        raise NotImplementedError(f"a kernel has no {name}\nand more")

    monkeypatch.setattr(scalars, "check", refuse)
    kernels = engines()["kernels"]
    assert not kernels.ok and kernels.detail.startswith("off by the probe")
    assert "llvm: a kernel has no " in kernels.detail and "\n" not in kernels.detail
    assert kernels.advice.startswith("pip install") and "jax" in kernels.advice


def test_a_kernel_that_computes_something_else(monkeypatch, anew):
    write = Program.emit

    def wrong(self, name, numbers, dtype, params):
        return write(self, "cos" if name == "sin" else name, numbers, dtype, params)

    monkeypatch.setattr(Program, "emit", wrong)
    kernels = engines()["kernels"]
    assert not kernels.ok and "a kernel is off by" in kernels.detail


def test_without_llvm_there_are_no_kernels(monkeypatch, anew):
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    found = engines()
    assert not found["llvm"].ok and "llvmlite" in found["llvm"].advice
    assert not found["kernels"].ok and "llvmlite is not installed" in found["kernels"].detail


def test_advice_names_the_versions_that_saddle_takes(monkeypatch):
    wanted = ["jax<0.13,>=0.10.2", "numpy>=2.0", 'jax[cuda13]; extra == "cuda"']
    monkeypatch.setattr(doctor.importlib.metadata, "requires", lambda name: wanted)
    assert doctor._required("jax") == "pip install 'jax<0.13,>=0.10.2'"
    assert doctor._required("mujoco") == "pip install mujoco"


def test_advice_from_a_source_tree_that_is_not_installed(monkeypatch):
    def requires(name):
        raise doctor.importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(doctor.importlib.metadata, "requires", requires)
    assert doctor._required("jax") == "pip install jax"


def test_warp_without_a_gpu_is_for_checks(monkeypatch):
    fake_import(monkeypatch, mujoco="3.17.0", llvmlite="0.50.0", mujoco_mjx="3.17.0", warp="1.18.0")
    monkeypatch.setattr(doctor, "_accelerators", list)
    warp = engines()["mjx-warp"]
    assert warp.ok and warp.detail.startswith("1.18.0; without an NVIDIA GPU") and warp.advice == ""


def test_warp_needs_mjx(monkeypatch):
    fake_import(monkeypatch, mujoco="3.17.0", warp="1.18.0")
    found = engines()
    assert not found["mjx-warp"].ok and found["mjx-warp"].advice == found["mjx-jax"].advice != ""


def test_a_broken_install_is_an_answer(monkeypatch):
    fake_import(monkeypatch, mujoco=OSError("libfoo.so: cannot open\nmore"))
    native = engines()["mujoco"]
    assert (
        not native.ok and native.detail == "installed, but does not import: libfoo.so: cannot open"
    )
    assert "mujoco" in native.advice


def gpu() -> Finding:
    return next(finding for finding in doctor._machine() if finding.name == "gpu")


def test_a_card_that_jax_cannot_use(monkeypatch):
    monkeypatch.setattr(doctor, "_nvidia_cards", lambda: ["NVIDIA H200, 143771 MiB"])
    monkeypatch.setattr(doctor, "_accelerators", list)
    assert not gpu().ok and "JAX cannot use it" in gpu().detail and "cuda" in gpu().advice


def test_a_card_that_jax_uses(monkeypatch):
    monkeypatch.setattr(doctor, "_nvidia_cards", lambda: ["NVIDIA H200, 143771 MiB"])
    monkeypatch.setattr(doctor, "_accelerators", lambda: ["NVIDIA H200"])
    assert gpu() == Finding("machine", "gpu", True, "NVIDIA H200, 143771 MiB")


def test_no_card(monkeypatch):
    monkeypatch.setattr(doctor, "_nvidia_cards", list)
    monkeypatch.setattr(doctor, "_accelerators", list)
    assert not gpu().ok and gpu().advice == ""


def test_the_driver_s_tool_may_be_broken(monkeypatch):
    monkeypatch.setattr(doctor.shutil, "which", lambda name: name)
    for done in (SimpleNamespace(returncode=9, stdout="NVIDIA-SMI has failed"), OSError("gone")):
        answer = done

        def run(*args, answer=answer, **kwargs):
            if isinstance(answer, Exception):
                raise answer
            return answer

        monkeypatch.setattr(doctor.subprocess, "run", run)
        assert doctor._nvidia_cards() == []


@pytest.mark.parametrize(("code", "ok"), [(0, True), (1, False)])
def test_gl_follows_the_probe(monkeypatch, code, ok):
    seen = {}

    def run(command, env, **kwargs):
        seen.update(env)
        return SimpleNamespace(returncode=code)

    monkeypatch.setattr(doctor.subprocess, "run", run)
    finding = doctor._gl("osmesa", "libosmesa6")
    assert seen["MUJOCO_GL"] == "osmesa"
    assert finding.ok is ok and finding.advice == ("" if ok else "libosmesa6")


def test_gl_probe_that_hangs(monkeypatch):
    def run(command, **kwargs):
        raise subprocess.TimeoutExpired(command, 1)

    monkeypatch.setattr(doctor.subprocess, "run", run)
    assert not doctor._gl("egl", "libegl1").ok


def test_without_a_video_encoder(monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    finding = doctor._video()
    assert not finding.ok and "video" in finding.advice


FINDINGS = [
    Finding("machine", "cpu", True, "2 cores"),
    Finding("engines", "mjx-warp", False, "not installed", "pip install 'saddle-rl[cuda]'"),
]


def test_text_report(monkeypatch, capsys):
    monkeypatch.setattr(verb, "examine", lambda: FINDINGS)
    verb.doctor(as_json=False)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["cpu", "yes", "2", "cores"] in lines
    assert ["mjx-warp", "no", "not", "installed"] in lines
    assert lines[-1] == ["mjx-warp", "pip", "install", "'saddle-rl[cuda]'"]


def test_json_report(monkeypatch, capsys):
    monkeypatch.setattr(verb, "examine", lambda: FINDINGS)
    verb.doctor(as_json=True)
    entries = json.loads(capsys.readouterr().out)
    assert list(entries) == ["cpu", "mjx-warp"]
    assert entries["cpu"] == {"group": "machine", "ok": True, "detail": "2 cores", "advice": ""}


def test_a_package_that_prints_on_import_does_not_spoil_the_json(tmp_path, monkeypatch, capsys):
    (tmp_path / "chatty_package.py").write_text(
        "print('Failed to import something')\n__version__ = '1'\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert doctor._package("engines", "chatty", "chatty_package", "").ok
    assert capsys.readouterr().out == ""
