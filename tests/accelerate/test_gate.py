"""The gate: off by the switch, off by the probe, and a single kernel that does not compile."""

import sys
import warnings
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saddle.accelerate import cpu_kernel, gate, gpu_kernel, probe, ptx_launch, triton, xla_ffi
from saddle.accelerate.compiler.branch import Branch
from saddle.accelerate.untraced import untraced
from saddle.errors import SaddleError
from saddle.learners import PPO
from saddle.learners.networks import plain
from saddle.learners.networks.backend import choose
from saddle.learners.networks.gpu import backend
from saddle.tasks.rare import patch_rare

KINDS = list(gate.BACKENDS)


@pytest.fixture(autouse=True)
def _fresh():
    """Nothing is probed or warned about yet, and nothing of it stays."""
    gate.forget()
    yield
    gate.forget()


def double(x):
    return 2 * x


def patched(x):
    """2 x, by a kernel where there may be one."""
    return jax.jit(jax.vmap(lambda x: patch_rare(double, x > 0, x, -x, kernel=True)))(x)


X = np.array([1.0, -2.0, 3.0, -4.0], np.float32)
RIGHT = np.array([2.0, 2.0, 6.0, 4.0], np.float32)


@pytest.fixture
def kernels(monkeypatch):
    """The functions whose kernels are called from now on."""
    called = []
    patch = cpu_kernel.patch

    def seen(rare, *args):
        called.append(rare)
        return patch(rare, *args)

    monkeypatch.setattr(cpu_kernel, "patch", seen)
    return called


@pytest.mark.parametrize("value", [None, "auto"])
def test_kernels_run_where_they_work(monkeypatch, kernels, value):
    if value is None:
        monkeypatch.delenv("SADDLE_KERNELS", raising=False)
    else:
        monkeypatch.setenv("SADDLE_KERNELS", value)
    assert gate.kinds() == ["llvm"] and gate.answer("llvm") == gate.Answer(True)
    np.testing.assert_array_equal(patched(X), RIGHT)
    assert double in kernels


def test_the_probe_runs_once_a_process(monkeypatch, kernels):
    assert gate.allows("llvm") and gate.allows("llvm") and gate.answer("llvm").allowed
    assert kernels == [probe.sample]


def test_kernels_that_are_switched_off_are_not_even_probed(monkeypatch, kernels):
    monkeypatch.setenv("SADDLE_KERNELS", "off")
    np.testing.assert_array_equal(patched(X), RIGHT)
    assert [gate.answer(kind) for kind in KINDS] == [
        gate.Answer(False, "switch", "SADDLE_KERNELS=off")
    ] * 3
    assert not kernels


@pytest.mark.parametrize("value", ["on", "OFF", "0", ""])
def test_another_value_of_the_switch_is_an_error(monkeypatch, value):
    monkeypatch.setenv("SADDLE_KERNELS", value)
    with pytest.raises(
        SaddleError, match=r"SADDLE_KERNELS is '.*'; set it to auto .* or off"
    ) as error:
        patched(X)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", ["ptx", "triton"])
def test_kernels_for_another_device_are_no_matter_for_a_warning(kind):
    assert not gate.allows(kind)
    assert gate.answer(kind).by == "backend"


def test_a_probe_that_fails_is_warned_about_once_and_says_why(monkeypatch, kernels):
    def broken(rare, *args):
        raise RuntimeError("no such instruction\nand what else LLVM has to say")

    monkeypatch.setattr(cpu_kernel, "patch", broken)
    with pytest.warns(UserWarning, match="no llvm kernels.*: no such instruction$") as seen:
        np.testing.assert_array_equal(patched(X), RIGHT)
    assert len(seen) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(patched(X), RIGHT)
    assert gate.answer("llvm") == gate.Answer(False, "probe", "no such instruction")


def test_a_kernel_that_computes_something_else_is_not_used(monkeypatch):
    monkeypatch.setattr(cpu_kernel, "patch", lambda rare, pred, x, default: default)
    with pytest.warns(UserWarning, match="a kernel is off by"):
        np.testing.assert_array_equal(patched(X), RIGHT)


def test_a_missing_package_is_a_reason(monkeypatch):
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    with pytest.warns(UserWarning, match="no llvm kernels.*llvmlite is not installed.*pip install"):
        assert not gate.allows("llvm")


def test_a_kernel_that_does_not_compile_runs_without_one(monkeypatch):
    """The probe's does: what breaks is this kernel alone."""
    assert gate.allows("llvm")

    def broken(branch):
        raise RuntimeError("too many registers\nfor this machine")

    monkeypatch.setattr(cpu_kernel, "compiled", broken)
    with pytest.warns(
        UserWarning, match="double runs without its kernel.*: too many registers$"
    ) as seen:
        np.testing.assert_array_equal(patched(X), RIGHT)
    assert len(seen) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(patched(X), RIGHT)
    assert gate.allows("llvm")


def test_a_gpu_s_kernel_is_tried_before_it_is_used(monkeypatch):
    """XLA assembles it long after a program was traced. Here it cannot be assembled at all: there
    is no GPU.
    """
    monkeypatch.setattr(gate, "answer", lambda kind: gate.Answer(kind == "ptx"))
    with pytest.warns(UserWarning, match="double runs without its kernel"):
        np.testing.assert_array_equal(patched(X), RIGHT)


def test_what_a_gpu_s_kernel_is_tried_on(monkeypatch):
    """One world that keeps its default, by the very text that the program will have."""
    seen = []

    def launch(name, text, grid, threads, results):
        def run(worlds, sizes, *arrays):
            seen.append((text, grid, [a.shape for a in arrays], [r.shape for r in results]))
            return [jnp.zeros(r.shape, r.dtype) for r in results]

        return run

    monkeypatch.setattr(gpu_kernel, "launch", launch)
    branch = Branch.of(double, X[:, None], X[:, None])
    gpu_kernel.prove(branch)
    assert seen == [(gpu_kernel.program_text(branch)[1], (1, 1, 1), [(1, 1), (1, 1)], [(1, 1)])]


def test_a_network_whose_kernels_do_not_compile_is_a_plain_one(monkeypatch):
    monkeypatch.setattr(jax, "devices", lambda: [SimpleNamespace(compute_capability="9.0")])
    monkeypatch.setattr(gate, "answer", lambda kind: gate.Answer(kind == "triton"))

    def broken(ppo):
        raise RuntimeError("out of shared memory")

    settings = PPO(hidden=(64, 64), precision="bf16")
    backend._works.cache_clear()
    with monkeypatch.context() as patches:
        patches.setattr(backend, "_trial", broken)
        with pytest.warns(UserWarning, match="without its kernel.*out of shared memory"):
            assert choose(settings) is plain
    assert choose(settings) is plain  # it is not tried again
    backend._works.cache_clear()
    assert choose(settings) is backend  # here the trial is interpreted, and works
    backend._works.cache_clear()


def test_a_gpu_that_kernels_are_not_made_for(monkeypatch):
    monkeypatch.setattr(gate, "answer", lambda kind: gate.Answer(True))
    assert gate.allows("triton") and not gate.allows("triton", capabilities=("9.0",))


def test_a_jax_without_pallas_back_end_for_triton(monkeypatch):
    monkeypatch.setattr(triton, "MISSING", "this JAX has no Triton back end in Pallas (gone)")
    assert probe.fault("triton") == "this JAX has no Triton back end in Pallas (gone)"


def test_the_probe_for_triton_is_right_where_it_is_interpreted():
    assert probe.fault("triton") is None


def test_the_probe_for_ptx_says_what_is_missing_here():
    assert ptx_launch.TARGET in (probe.fault("ptx") or "")


def test_something_can_run_while_a_program_is_traced():
    ran = []

    @jax.jit
    @jax.vmap
    def program(x):
        ran.append(float(untraced(lambda: jnp.ones(3).sum())))
        return x + 1

    np.testing.assert_array_equal(program(X), X + 1)
    assert ran == [3.0]


def test_this_xla_calls_functions_as_ours_expect():
    assert xla_ffi.mismatch() is None
    running = xla_ffi.running_version()
    assert running is not None and running >= xla_ffi.VERSION


@pytest.mark.parametrize(
    ("version", "fine"),
    [("0 3", True), ("0 4", True), ("0 12", True), ("0 2", False), ("1 0", False), ("1 9", False)],
)
def test_versions_of_the_interface(monkeypatch, tmp_path, version, fine):
    major, minor = version.split()
    header = tmp_path / xla_ffi.HEADER
    header.parent.mkdir(parents=True)
    header.write_text(
        f"// the interface\n#define XLA_FFI_API_MAJOR {major}\n#define XLA_FFI_API_MINOR {minor}\n"
    )
    monkeypatch.setattr(jax.ffi, "include_dir", lambda: str(tmp_path))
    assert (xla_ffi.mismatch() is None) == fine
    if fine:
        assert gate.answer("llvm").allowed
    else:
        assert gate.answer("llvm") == gate.Answer(False, "probe", xla_ffi.mismatch() or "")
        assert f"{major}.{minor} here, kernels are for 0.3" in gate.answer("llvm").why


@pytest.mark.parametrize("text", [None, "#define XLA_FFI_API_MAJOR 0\n"])
def test_an_interface_that_does_not_say_its_version(monkeypatch, tmp_path, text):
    if text is not None:
        header = tmp_path / xla_ffi.HEADER
        header.parent.mkdir(parents=True)
        header.write_text(text)
    monkeypatch.setattr(jax.ffi, "include_dir", lambda: str(tmp_path))
    assert "does not say which version" in gate.answer("llvm").why


def test_xla_refuses_a_function_of_a_version_that_it_does_not_have(monkeypatch):
    """So it is ours that it looks at, not its own echoed back."""
    monkeypatch.setattr(xla_ffi, "VERSION", (0, 999))
    monkeypatch.setattr(xla_ffi, "mismatch", lambda: None)
    cpu_kernel.compiled.cache_clear()
    why = gate.answer("llvm").why
    cpu_kernel.compiled.cache_clear()
    assert "API version (0.999) is incompatible" in why
