"""`saddle evaluate` and `saddle export`: what trained policies do, and how to take them elsewhere."""

import json
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from saddle import open_study, policies, tasks
from saddle.collect import first_keys
from saddle.console import console
from saddle.errors import SaddleError
from saddle.policies import Gaussian
from saddle.study.store import MANIFEST, Study
from saddle.tables import Column, print_table
from saddle.tasks import Task
from saddle.words import counted

Mode = Literal["deterministic", "stochastic"]


@dataclass(frozen=True)
class Score:
    """Episodes of one policy. Violating: cost above the limit."""

    run: str
    task: str
    mode: Mode
    episodes: int
    return_mean: float
    return_sd: float
    cost_mean: float
    cost_sd: float
    length_mean: float
    limit: float | None
    violating: float | None  # share of episodes


def evaluate(path: Path, episodes: int, limit: float | None, seed: int, as_json: bool) -> None:
    """Play the policies of a study or of a folder, by their mean and as trained, and print how they fare."""
    if episodes < 1:
        raise SaddleError(f"--episodes is {episodes}; it must be at least 1")
    found = _policies(path)
    scores = [
        score(run, policy, mode, episodes, limit if limit is not None else own, seed)
        for run, policy, own in found
        for mode in ("deterministic", "stochastic")
    ]
    if as_json:
        print(json.dumps([asdict(one) for one in scores], indent=2))
    else:
        _print(scores)


def export(path: Path, out: Path, run: str | None) -> None:
    """Write one policy of a study to the folder `out` as policy.npz and policy.json."""
    study = open_study(path)
    known = study.runs["run"].to_list()
    if run is None and len(known) > 1:
        raise SaddleError(f"{path} holds {len(known)} runs; choose one with --run, for example --run {known[0]}")
    chosen = run or known[0]
    study.policy(chosen)  # says what is wrong where there is none
    arrays, facts = policies.read(study.policy_folder(chosen))
    policies.save(out, arrays, facts)
    print(f"wrote {out / 'policy.npz'} and {out / 'policy.json'}: {chosen}")


def score(run: str, policy: Gaussian, mode: Mode, episodes: int, limit: float | None, seed: int) -> Score:
    """Play whole episodes, all at once."""
    task = tasks.make(policy.task)
    play = _on_host if tasks.on_host(task) else _on_device
    ret, length, cost = np.asarray(play(task, policy, mode == "stochastic", episodes, seed)).T[:3]
    over = None if limit is None else float(np.mean(cost > limit))
    spread = lambda x: float(np.std(x, ddof=1)) if episodes > 1 else 0.0
    return Score(
        run=run,
        task=policy.task,
        mode=mode,
        episodes=episodes,
        return_mean=float(ret.mean()),
        return_sd=spread(ret),
        cost_mean=float(cost.mean()),
        cost_sd=spread(cost),
        length_mean=float(length.mean()),
        limit=limit,
        violating=over,
    )


def _act(policy: Gaussian, stochastic: bool, obs: Array, key: Array) -> Array:
    """obs [N, obs_dim] -> actions [N, action_dim]."""
    mean = policy.mean(obs)
    return mean + jnp.exp(policy.log_std) * jax.random.normal(key, mean.shape) if stochastic else mean


def _on_device(task: Task, policy: Gaussian, stochastic: bool, episodes: int, seed: int) -> Array:
    """Totals [episodes, 2 + m]: return, length, costs. A world that has ended adds nothing more."""
    worlds = first_keys(jax.random.key(seed)[None], episodes)
    keys = jax.random.split(jax.random.key(seed + 1), task.spec.episode_length)

    def step(carry: tuple, key: Array) -> tuple[tuple, None]:
        state, total, running = carry
        after = jax.vmap(task.step)(state, _act(policy, stochastic, state.obs, key))
        gained = jnp.concatenate([after.reward[:, None], jnp.ones((episodes, 1)), after.cost], -1)
        total = total + jnp.where(running[:, None], gained, 0.0)
        return (after, total, running & ~(after.terminated | after.truncated)), None

    @jax.jit
    def play() -> Array:
        start = jax.vmap(task.reset)(worlds)
        total = jnp.zeros((episodes, 2 + len(task.spec.constraints)))
        return jax.lax.scan(step, (start, total, jnp.ones(episodes, bool)), keys)[0][1]

    return play()


def _on_host(task: Task, policy: Gaussian, stochastic: bool, episodes: int, seed: int) -> np.ndarray:
    """As `_on_device`."""
    host = tasks.host_worlds(task.spec.name, episodes)
    act = jax.jit(partial(_act, policy, stochastic))
    obs = host.reset(np.arange(seed * episodes, (seed + 1) * episodes, dtype=np.uint64))
    total, running = np.zeros((episodes, 2 + len(task.spec.constraints))), np.ones(episodes, bool)
    for key in jax.random.split(jax.random.key(seed + 1), task.spec.episode_length):
        now = host.step(np.asarray(act(jnp.asarray(obs), key)))
        total += running[:, None] * np.column_stack([now.reward, np.ones(episodes), now.cost])
        running &= ~(now.terminated | now.truncated)
        obs = now.obs
        if not running.any():
            break
    return total


def _policies(path: Path) -> list[tuple[str, Gaussian, float | None]]:
    """Name, policy and cost limit of everything trained that `path` holds."""
    if not (path / MANIFEST).exists():
        return [(path.name, policies.gaussian(path), None)]
    study: Study = open_study(path)
    rows = study.runs.select("run", "limit").iter_rows()
    done = [(run, limit) for run, limit in rows if study.policy_folder(run).is_dir()]
    if not done:
        raise SaddleError(f"{path} holds no finished run yet; 'saddle study status {path}' says how far it is")
    return [(run, policies.gaussian(study.policy_folder(run)), limit) for run, limit in done]


def _print(scores: list[Score]) -> None:
    columns = (
        Column("run", identifies=True),
        Column("policy", identifies=True),
        *(Column(name, right=True) for name in ("return", "cost", "length", "limit", "violating")),
    )
    rows = []
    for one in scores:
        row = (
            one.run,
            one.mode,
            f"{one.return_mean:.2f} ± {one.return_sd:.2f}",
            f"{one.cost_mean:.2f} ± {one.cost_sd:.2f}",
            f"{one.length_mean:.0f}",
            "-" if one.limit is None else f"{one.limit:g}",
            "-" if one.violating is None else f"{one.violating:.0%}",
        )
        rows.append(row)
    print_table(console(), columns, rows, title=f"{counted(scores[0].episodes, 'episode')} each")
