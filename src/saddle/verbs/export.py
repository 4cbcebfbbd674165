"""`saddle export`: a trained policy as plain arrays, to take elsewhere."""

from pathlib import Path

from saddle import open_study, policy_files
from saddle.errors import SaddleError


def export(path: Path, out: Path, run: str | None) -> None:
    """Write one policy of a study to the folder `out` as policy.npz and policy.json."""
    study = open_study(path)
    known = study.runs["run"].to_list()
    if run is None and len(known) > 1:
        raise SaddleError(
            f"{path} holds {len(known)} runs; choose one with --run, for example --run {known[0]}"
        )
    chosen = known[0] if run is None else run
    arrays, facts = policy_files.read(study.trained_policy(chosen))
    policy_files.save(out, arrays, facts)
    print(f"wrote {out / 'policy.npz'} and {out / 'policy.json'}: {chosen}")
