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


def _traced(where: str, function: Any, *arguments: Any) -> Any:
    import jax

    try:
        return jax.eval_shape(function, *arguments)
    except SaddleError:
        raise
    except Exception as error:
        raise SaddleError(f"{where} fails ({because(error)})") from error


def _check_state(where: str, task: Any, state: Any) -> None:
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
        found = tuple(getattr(state, field).shape)
        if found != shape:
            raise SaddleError(
                f"{where} returns {field!r} of shape {found}, but the spec says {shape}"
            )
