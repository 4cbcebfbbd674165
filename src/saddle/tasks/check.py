"""Whether a task of one's own is what its spec says, before anything is compiled for it."""

from typing import Any

from saddle.errors import SaddleError
from saddle.references import because
from saddle.tasks.host import HostTask


def check_shapes(task: Any, name: str) -> None:
    """Trace a JAX task once, without running it: its states must have the shapes that its spec
    gives.

    A task of the host shows its arrays when its worlds step.
    """
    if isinstance(task, HostTask):
        return
    if type(task).__hash__ is None:
        raise SaddleError(
            f"{name} cannot be hashed, which programs are kept by; make it a frozen dataclass"
        )
    import jax
    import jax.numpy as jnp

    seed = jax.ShapeDtypeStruct((), jnp.uint32)
    kind = jnp.int32 if task.spec.choices else jnp.float32
    action = jax.ShapeDtypeStruct((task.spec.action_dim,), kind)
    state = _traced(f"{name}: reset", lambda seed: task.reset(jax.random.key(seed)), seed)
    _check_state(f"{name}: reset", task, state)
    after = _traced(f"{name}: step", task.step, state, action)
    _check_state(f"{name}: step", task, after)
    if jax.tree.structure(state) != jax.tree.structure(after):
        raise SaddleError(
            f"{name}: step returns a state with other fields than reset does; they must be the same"
        )
    _check_alike(name, state, after)


def _check_alike(name: str, state: Any, after: Any) -> None:
    """A step's state can be the next step's: every array has the shape and type that it had."""
    import jax

    before, _ = jax.tree_util.tree_flatten_with_path(state)
    for (path, one), other in zip(before, jax.tree.leaves(after), strict=True):
        if one.shape != other.shape or one.dtype != other.dtype:
            field = jax.tree_util.keystr(path).lstrip(".")
            raise SaddleError(
                f"{name}: reset returns {field!r} of type {one.dtype}{list(one.shape)}, and step "
                f"of type {other.dtype}{list(other.shape)}; make both the same"
            )


def _traced(where: str, function: Any, *arguments: Any) -> Any:
    import jax

    try:
        return jax.eval_shape(function, *arguments)
    except SaddleError:
        raise
    except Exception as error:
        raise SaddleError(f"{where} fails ({because(error)})") from error


def _check_state(where: str, task: Any, state: Any) -> None:
    import jax.numpy as jnp

    spec = task.spec
    wanted: dict[str, tuple[int, ...]] = {
        "obs": (spec.obs_dim,),
        "reward": (),
        "cost": (len(spec.constraints),),
        "terminated": (),
        "truncated": (),
        "steps": (),
        "key": (),
    }
    for field, shape in wanted.items():
        if not hasattr(state, field):
            raise SaddleError(f"{where} returns no {field!r}; a state extends saddle.tasks.State")
        value = getattr(state, field)
        if tuple(value.shape) != shape:
            raise SaddleError(
                f"{where} returns {field!r} of shape {tuple(value.shape)}, but the spec says "
                f"{shape}"
            )
    for field in ("obs", "reward", "cost"):
        _check_type(where, state, field, jnp.floating, "jnp.float32")
    for field in ("terminated", "truncated"):
        _check_type(where, state, field, jnp.bool_, "bool")


def _check_type(where: str, state: Any, field: str, kind: Any, wanted: str) -> None:
    import jax.numpy as jnp

    found = getattr(state, field).dtype
    if not jnp.issubdtype(found, kind):
        raise SaddleError(
            f"{where} returns {field!r} of type {found}; convert it: {field}.astype({wanted})"
        )
