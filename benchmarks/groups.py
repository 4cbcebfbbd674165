"""What regrouping members between passes should gain on a GPU, by the costs that `ppo/groups.py`
assumes, with the stops of recorded studies: python benchmarks/groups.py STUDY ... [--members 250]

It measures nothing; `saddle bench learner --stops STUDY` does.
"""

import argparse
from pathlib import Path

import numpy as np

from saddle.bench.stops import recorded_passes, replayed
from saddle.learners.ppo import groups
from saddle.study.store import open_study


def pass_costs(sizes: tuple[int, ...], members: int) -> np.ndarray:
    """Of one pass while n members are active, for n from 0 to `members`, in passes of a member."""
    costs = np.array([groups.pass_cost(size, members) for size in sizes])
    return groups.plan(sizes, members) @ costs


def active_members(stops: np.ndarray) -> np.ndarray:
    """Members that take each pass: [epochs, members] -> [epochs, passes]."""
    passes = np.arange(stops.max())
    return (stops[:, None, :] > passes[None, :, None]).sum(2)


def gain(stops: np.ndarray, sizes: tuple[int, ...]) -> float:
    """Time of all passes in one group over that in groups of these sizes."""
    members = stops.shape[1]
    active = active_members(stops)
    together = pass_costs((members,), members)[active].sum()
    return float(together / pass_costs(sizes, members)[active].sum())


def main() -> None:
    """A line for each study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("studies", nargs="+", type=Path)
    parser.add_argument("--members", type=int, default=250)
    arguments = parser.parse_args()
    sizes = groups.sizes("gpu", arguments.members)
    print(f"groups of {sizes}")
    for path in arguments.studies:
        study = open_study(path)
        for task in sorted(set(study.runs["task"])):
            recorded = recorded_passes(study, task)
            stops = replayed(recorded, arguments.members, len(recorded))
            print(
                f"{path.name} {task}: passes mean {stops.mean():.1f}, "
                f"slowest {stops.max(1).mean():.1f}; passes {gain(stops, sizes):.2f} times faster"
            )


if __name__ == "__main__":
    main()
