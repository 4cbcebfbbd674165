"""Record steps of the reference's Button1 in which gremlins touch each other and buttons.

Run in an environment of its own, with Python 3.10, since the reference does not import on 3.11:
    pip install safety-gymnasium==1.0.0 mujoco==2.3.3 gymnasium==0.28.1 "numpy<1.25"
    python benchmarks/record_button_contacts.py 50000 40 rows/SafetyPointButton1-v0.npz
The numbers are the first seed and how many episodes; `saddle parity --golden rows` replays the
file. With `--touching` only rows in which gremlins touch each other or buttons are kept: those that
come with Saddle (src/saddle/parity/transitions/SafetyPointButton1-v0.contacts.npz) are of seed
40000, 7 episodes. `--pairs FILE` also keeps one of 50 of the pairs of gremlins that touched in any
substep, and the engine's contacts of each: tests/data/box_contacts.npz is of seed 30000, 40
episodes. `--check FILE` instead repeats the rows of a file, and says how far it is from them;
`--rounded FILE` does so with positions, velocities and time rounded to float32, and says how far
gremlins that touch each other or buttons then end.

Left alone, gremlins never meet. So in each episode the robot sometimes drives at the nearest one,
and now and then a gremlin is put beside another, or beside a button, and left to its spring for
some steps. The solver starts each step without memory of the one before, so that a row depends on
what it holds alone.
"""

import argparse
from pathlib import Path

import mujoco  # type: ignore[import-not-found]
import numpy as np
import safety_gymnasium  # type: ignore[import-not-found]
from safety_gymnasium.bases import underlying  # type: ignore[import-not-found]

TASK = "SafetyPointButton1-v0"
ROBOT = ("agent", "pointarrow")
GREMLINS = 4
GOAL_BUTTON, OTHER_BUTTON, GREMLIN, GREMLIN_OBJECT = 1, 2, 4, 128
ROBOT_BITS = GOAL_BUTTON | OTHER_BUTTON | GREMLIN
COSTS = ("cost_hazards", "cost_gremlins", "cost_buttons", "cost_out_of_boundary")
WIDTH = 0.2  # m, of a gremlin
STEPS = 60  # of an episode
PUT_EVERY = 6  # steps between two displacements
PERIOD = 20.0  # s, of an episode
SLOTS = 8  # contacts of two boxes at most
PAIRS_EVERY = 50


class Reference:
    """The reference's environment, with what touches what in every substep."""

    def __init__(self):
        self.env = safety_gymnasium.make(TASK).unwrapped
        self.seen = []  # the bits of each substep's contacts, while a step is recorded
        self.pairs = []  # of every substep so far: two gremlins that touched, and their contacts
        self.mujoco = _Watched(self)
        underlying.mujoco = self.mujoco

    @property
    def task(self):
        return self.env.task

    def reset(self, seed):
        """A new episode; its layout."""
        self.env.reset(seed=seed)
        config = self.task.world_info.world_config_dict
        layout = self.task.world_info.layout
        places = lambda name, count: np.array([layout[f"{name}{i}"] for i in range(count)])
        turns = [config["free_geoms"][f"gremlin{i}obj"]["rot"] for i in range(GREMLINS)]
        return {
            "ep_seed": seed,
            "ep_agent": np.array([*layout["agent"], config["agent_rot"]]),
            "ep_hazards": places("hazard", 4),
            "ep_buttons": places("button", 4),
            "ep_gremlins": np.column_stack([places("gremlin", GREMLINS), turns]),
        }

    def state(self):
        """All that the next step depends on but the action."""
        data = self.task.data
        buttons = self.task.buttons
        goal = buttons.goal_button
        return {
            "step": self.env.steps,
            "qpos": data.qpos.copy(),
            "qvel": data.qvel.copy(),
            "time": data.time,
            "goal": np.array(buttons.pos[goal][:2]),
            "goal_button": goal,
            "timer": buttons.timer,
            "last_goal": self.task.last_dist_goal,
            "last_box": 0.0,
            "last_box_goal": 0.0,
        }

    def put(self, row):
        """Back into the state of a row."""
        data = self.task.data
        data.qpos[:], data.qvel[:], data.time = row["qpos"], row["qvel"], row["time"]
        self.task.buttons.goal_button = int(row["goal_button"])
        self.task.buttons.timer = int(row["timer"])
        self.task._set_goal(np.asarray(row["goal"]))
        self.task.last_dist_goal = float(row["last_goal"])
        self.env.steps = int(row["step"])
        self.env.terminated = self.env.truncated = False

    def step(self, action):
        """One step: what the reference returns and where it ends, by the names of the rows."""
        self.task.data.qacc_warmstart[:] = 0
        self.seen = []
        goal_button = self.task.buttons.goal_button
        self.mujoco.goal_button = goal_button
        obs, reward, cost, terminated, truncated, info = self.env.step(action)
        after = self.state()
        end = self.bits(goal_button)
        return {
            **{
                f"{name}2": after[name] for name in ("qpos", "qvel", "goal", "goal_button", "timer")
            },
            **{name: info.get(name, 0.0) for name in COSTS},
            "obs2": obs,
            "reward": reward,
            "cost": cost,
            "terminated": terminated,
            "truncated": truncated,
            "goal_met": info.get("goal_met", False),
            "contact_end": end,
            "contact_any": int(np.bitwise_or.reduce([*self.seen, end])),
            "touching": sum(bool(bits & ROBOT_BITS) for bits in self.seen),
            "ncon": self.task.data.ncon,
        }

    def bits(self, goal_button):
        """What touches what in the engine's present contacts."""
        found = 0
        model, data = self.task.model, self.task.data
        for contact in data.contact[: data.ncon]:
            names = sorted(model.geom(geom).name for geom in (contact.geom1, contact.geom2))
            found |= _bit(names, f"button{goal_button}")
        return found

    def note(self, poses, goal_button):
        """Remember the contacts of a substep that began with the gremlins at these poses [4, 7]."""
        self.seen.append(self.bits(goal_button))
        model, data = self.task.model, self.task.data
        geoms = [model.geom(f"gremlin{i}obj").id for i in range(GREMLINS)]
        found = {}
        for contact in data.contact[: data.ncon]:
            if contact.geom1 in geoms and contact.geom2 in geoms:
                pair = geoms.index(contact.geom1), geoms.index(contact.geom2)
                numbers = [contact.dist, *contact.pos, *contact.frame[:3]]
                found.setdefault(pair, []).append(numbers)
        for (first, second), contacts in found.items():
            self.pairs.append((poses[first], poses[second], contacts))


class _Watched:
    """MuJoCo as the reference sees it: contacts are noted after every substep."""

    def __init__(self, reference):
        self.reference = reference
        self.goal_button = 0

    def __getattr__(self, name):
        return getattr(mujoco, name)

    def mj_step(self, model, data):
        poses = data.qpos[3:].reshape(GREMLINS, 7).copy()
        mujoco.mj_step(model, data)  # type: ignore[attr-defined]
        self.reference.note(poses, self.goal_button)


def _bit(names, goal_button):
    """The bit of a contact between two geoms."""
    others = [name for name in names if name not in ROBOT]
    gremlins = [name for name in others if name.startswith("gremlin")]
    if "floor" in others or not others:
        return 0
    if len(others) == 2:
        return GREMLIN_OBJECT if gremlins else 0
    if gremlins:
        return GREMLIN
    return GOAL_BUTTON if others == [goal_button] else OTHER_BUTTON


def displace(reference, layout, rng):
    """Put one or two gremlins beside another, or beside a button, as the others fly: level."""
    data = reference.task.data
    bodies = data.qpos[3:].reshape(GREMLINS, 7)
    motions = data.qvel[3:].reshape(GREMLINS, 6)
    order = rng.permutation(GREMLINS)
    for mover in order[: rng.integers(1, 3)]:
        beside_button = rng.random() < 0.3
        place = layout["ep_buttons"][rng.integers(4)] if beside_button else bodies[order[-1], :2]
        reach = WIDTH * (0.95 if beside_button else rng.uniform(0.93, 1.35))
        way = rng.uniform(0, 2 * np.pi)
        bodies[mover, :2] = place + reach * np.array([np.cos(way), np.sin(way)])
        motions[mover] = motions[order[-1]]
        if rng.random() < 0.3:
            motions[mover, :2] += rng.normal(0, 0.5, 2)


def nearest_gremlin(reference):
    """An action towards the gremlin nearest to the robot."""
    agent = reference.task.agent
    ways = [agent.mat.T @ (place - agent.pos) for place in reference.task.gremlins.pos]
    ahead = min(ways, key=np.linalg.norm)
    turn = np.arctan2(ahead[1], ahead[0])
    return np.array([float(abs(turn) < 0.5), np.clip(1.5 * turn, -1, 1)])


def record(seed, episodes):
    """Layouts and rows of so many episodes from this seed on, and the pairs that touched."""
    reference = Reference()
    layouts, rows = [], []
    for ep in range(episodes):
        rng = np.random.default_rng(seed + ep)
        layouts.append(reference.reset(seed + ep))
        reference.task.data.time = rng.uniform(0, PERIOD)
        chases = rng.random() < 0.5
        for step in range(STEPS):
            if step % PUT_EVERY == PUT_EVERY - 1:
                displace(reference, layouts[-1], rng)
            action = rng.uniform(-1.3, 1.3, 2)
            if chases:
                action = nearest_gremlin(reference) + rng.normal(0, 0.1, 2)
            rows.append({"ep": ep, **reference.state(), "action": action, **reference.step(action)})
    return layouts, rows, reference.pairs


def save(path, layouts, rows):
    """Arrays by name, layouts that no row needs left out."""
    needed = sorted({row["ep"] for row in rows})
    rows = [{**row, "ep": needed.index(row["ep"])} for row in rows]
    layouts = [layouts[ep] for ep in needed]
    arrays = {}
    for group in (layouts, rows):
        arrays |= {name: np.array([one[name] for one in group]) for name in group[0]}
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **arrays)
    print(f"{len(rows)} rows of {len(layouts)} episodes in {path}")


def save_pairs(path, pairs):
    """The poses [n, 7] of both of each pair, and their contacts [n, SLOTS, 7]: distance, point,
    normal.
    """
    contacts = np.zeros((len(pairs), SLOTS, 7))
    for row, (_, _, found) in enumerate(pairs):
        contacts[row, : len(found)] = found
    np.savez_compressed(
        path,
        first=np.array([pair[0] for pair in pairs]),
        second=np.array([pair[1] for pair in pairs]),
        count=np.array([len(pair[2]) for pair in pairs]),
        contacts=contacts,
    )
    print(f"{len(pairs)} pairs in {path}")


def check(path):
    """Repeat the rows of a file, and print the largest difference of what can be repeated."""
    with np.load(path) as file:
        golden = dict(file)
    reference = Reference()
    worst = {}
    last = None
    for row in range(len(golden["ep"])):
        ep = golden["ep"][row]
        if ep != last:
            layout = reference.reset(int(golden["ep_seed"][ep]))
            last = ep
        for name, value in layout.items():
            worst[name] = max(worst.get(name, 0), _apart(value, golden[name][ep]))
        reference.put({name: golden[name][row] for name in golden if not name.startswith("ep_")})
        found = reference.step(golden["action"][row])
        drawn = {"goal2", "goal_button2", "obs2"} if golden["goal_met"][row] else set()
        for name in found.keys() - drawn:
            worst[name] = max(worst.get(name, 0), _apart(found[name], golden[name][row]))
    for name, apart in sorted(worst.items()):
        print(f"{name:22} {apart:.1e}")


def rounded(path):
    """Print how far the reference is from itself when a row's state is rounded to float32."""
    with np.load(path) as file:
        golden = dict(file)
    reference = Reference()
    errors = []
    last = None
    for row in np.flatnonzero(golden["contact_any"] & GREMLIN_OBJECT):
        ep = golden["ep"][row]
        if ep != last:
            reference.reset(int(golden["ep_seed"][ep]))
            last = ep
        state = {name: golden[name][row] for name in golden if not name.startswith("ep_")}
        for name in ("qpos", "qvel", "time"):
            state[name] = np.asarray(state[name], np.float32).astype(np.float64)
        reference.put(state)
        found = reference.step(golden["action"][row])
        pairs = (found["qpos2"], golden["qpos2"][row])
        ours, theirs = (qpos[3:].reshape(GREMLINS, 7)[:, :3] for qpos in pairs)
        errors.append(np.linalg.norm(ours - theirs, axis=1).max())
    for percentile in (50, 90, 95, 99, 100):
        error = np.percentile(errors, percentile, method="inverted_cdf")
        print(f"{percentile:3} % of {len(errors)} rows: {error:.1e} m")
    print(f"above 1e-5 m: {np.sum(np.array(errors) > 1e-5)}")


def _apart(ours, theirs):
    return float(np.max(np.abs(np.asarray(ours, float) - np.asarray(theirs, float))))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("seed", type=int, nargs="?", default=20000)
    parser.add_argument("episodes", type=int, nargs="?", default=12)
    parser.add_argument("path", type=Path, nargs="?", default=Path("rows", f"{TASK}.npz"))
    parser.add_argument("--touching", action="store_true")
    parser.add_argument("--pairs", type=Path)
    parser.add_argument("--check", type=Path)
    parser.add_argument("--rounded", type=Path)
    asked = parser.parse_args()
    if asked.check:
        check(asked.check)
        return
    if asked.rounded:
        rounded(asked.rounded)
        return
    layouts, rows, pairs = record(asked.seed, asked.episodes)
    if asked.touching:
        rows = [row for row in rows if row["contact_any"] & GREMLIN_OBJECT]
    save(asked.path, layouts, rows)
    if asked.pairs:
        save_pairs(asked.pairs, pairs[::PAIRS_EVERY])


if __name__ == "__main__":
    main()
