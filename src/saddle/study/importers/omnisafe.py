"""OmniSafe's log folders as a study: config.json and progress.csv of each run, at any depth below a
folder.

What has a column of ours goes there; every other column keeps OmniSafe's name. OmniSafe logs means
over a window of recent episodes only, so `return`, `cost` and `length` hold the same values as
their `window_` columns.
"""

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from saddle.errors import SaddleError
from saddle.multipliers.fixed import Fixed
from saddle.study.columns import METRICS, runs_frame, typed_metrics
from saddle.study.names import short
from saddle.study.writer import create, manifest, write_chunk, write_progress, write_runs

COLUMNS = {
    "Train/Epoch": ("epoch",),
    "TotalEnvSteps": ("env_steps",),
    "Metrics/EpRet": ("return", "window_return"),
    "Metrics/EpCost": ("cost", "window_cost"),
    "Metrics/EpLen": ("length", "window_length"),
    "Metrics/LagrangeMultiplier": ("lambda",),
    "Train/KL": ("kl",),
    "Train/StopIter": ("passes",),
    "Train/Entropy": ("entropy",),
    "Train/PolicyStd": ("std",),
    "Loss/Loss_pi": ("loss_pi",),
    "Loss/Loss_reward_critic": ("loss_vr",),
    "Loss/Loss_cost_critic": ("loss_vc",),
}
# OmniSafe names a learner and its multiplier's rule in one word. Here they are two, so that the
# rules of one learner are compared with each other; any other algorithm keeps its name.
LEARNERS = {
    "PDO": "PolicyGradient",
    "RCPO": "NaturalPG",
    "PPOLag": "PPO",
    "CPPOPID": "PPO",
    "TRPOLag": "TRPO",
    "TRPOPID": "TRPO",
    "DDPGLag": "DDPG",
    "DDPGPID": "DDPG",
    "TD3Lag": "TD3",
    "TD3PID": "TD3",
    "SACLag": "SAC",
    "SACPID": "SAC",
}
# Parts of config.json in which compared runs should agree
OF_THE_LEARNER = ("algo_cfgs", "model_cfgs")
NEEDED = ("Train/Epoch", "TotalEnvSteps", "Metrics/EpRet", "Metrics/EpCost")


class Damaged(Exception):
    """Why a folder is skipped."""


class Log(NamedTuple):
    """One run, read."""

    row: dict[str, Any]
    metrics: pl.DataFrame  # without the column `run`


def import_logs(logs: Path, out: Path, on_message: Callable[[str], None]) -> tuple[int, int]:
    """Make a study of all logs below a folder; returns how many it imported and how many it could
    not. `on_message` is told which, and why.
    """
    if not logs.is_dir():
        raise SaddleError(f"{logs} is not a folder; name the one that holds OmniSafe's logs")
    found, skipped, notes = read_logs(logs)
    for text in (*notes, *(f"skipped {name}: {why}" for name, why in skipped.items())):
        on_message(text)
    if not found:
        raise SaddleError(
            f"{logs} holds no OmniSafe log that can be read (config.json and progress.csv of a run)"
        )
    units = _units(found)

    def fill(folder: Path) -> None:
        for unit, some in units.items():
            write_runs(folder, unit, runs_frame([log.row for log in some]))
            frames = [log.metrics.with_columns(run=pl.lit(log.row["run"])) for log in some]
            frame = typed_metrics(pl.concat(frames, how="diagonal_relaxed"))
            epochs = max(log.metrics.height for log in some)
            write_chunk(folder, unit, 0, epochs, frame)
            write_progress(folder, unit, "done", epochs, epochs, 0.0)

    plan = {"imported": "omnisafe", "folder": str(logs), "skipped": skipped, "notes": notes}
    create(out, manifest(logs.absolute().name, None, plan), fill)
    return len(found), len(skipped)


def read_logs(logs: Path) -> tuple[list[Log], dict[str, str], list[str]]:
    """Every run below the folder; what was skipped, and why; and what else is worth saying."""
    found = []
    skipped = {}
    notes = []
    for folder in _folders(logs):
        name = str(folder.relative_to(logs))
        try:
            log = _read(folder, name)
        except Damaged as why:
            skipped[name] = str(why)
            continue
        if log.row["reason"]:
            notes.append(f"{name}: {log.row['reason']}")
        found.append(log)
    seen: Counter[str] = Counter()
    for log in found:
        seen[log.row["run"]] += 1
        if seen[log.row["run"]] > 1:
            notes.append(
                f"{log.row['run']} was run more than once with this seed; all of them are kept"
            )
            log.row["run"] += f"-again{seen[log.row['run']] - 1}"
    return found, skipped, notes + _differences(found)


def _differences(found: list[Log]) -> list[str]:
    """What to say where learners of one algorithm on one task were set differently."""
    seen: dict[tuple[str, str], dict[str, set[str]]] = {}
    for log in found:
        config = json.loads(log.row["params"])["omnisafe"]
        settings = seen.setdefault((log.row["algorithm"], log.row["task"]), {})
        parts = [config[part] for part in OF_THE_LEARNER if isinstance(config.get(part), dict)]
        for part in parts:
            for name, value in part.items():
                settings.setdefault(name, set()).add(json.dumps(value))
    notes = []
    for (algorithm, task), settings in seen.items():
        differ = [
            name for name in sorted(settings) if len(settings[name]) > 1 and name != "cost_limit"
        ]
        if differ:
            what = f"{algorithm} on {task} was run with different {', '.join(differ)}"
            notes.append(f"{what}; such runs may not compare")
    return notes


def _folders(logs: Path) -> Iterator[Path]:
    both = {file.parent for name in ("config.json", "progress.csv") for file in logs.rglob(name)}
    yield from sorted(both)


def _read(folder: Path, name: str) -> Log:
    config = _config(folder / "config.json")
    header, rows, torn = _csv(folder / "progress.csv")
    metrics = _metrics(header, rows)
    try:
        row = _row(config, name)
    except (KeyError, TypeError, ValueError) as error:
        raise Damaged(f"config.json lacks or garbles {error}") from None
    planned = config.get("train_cfgs", {}).get("epochs")
    if torn or (isinstance(planned, int) and metrics.height < planned):
        of_all = f" of {planned}" if planned else ""
        where = ", in the middle of a line" if torn else ""
        row["status"] = "failed"
        row["reason"] = f"the log ends after {metrics.height}{of_all} epochs{where}"
    return Log(row, metrics)


def _config(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Damaged("there is no config.json beside progress.csv") from None
    except (OSError, ValueError) as error:
        raise Damaged(f"config.json cannot be read ({error})") from None
    if not isinstance(config, dict):
        raise Damaged("config.json is not an object")
    return config


def _csv(path: Path) -> tuple[list[str], list[list[str]], bool]:
    """Header, whole rows, and whether the last line is torn, as by a kill."""
    try:
        text = path.read_text(encoding="utf-8")
        header, *rows = csv.reader(text.splitlines(), strict=True)
    except FileNotFoundError:
        raise Damaged("there is no progress.csv beside config.json") from None
    except (OSError, ValueError, csv.Error) as error:
        raise Damaged(
            "progress.csv is empty" if not path.stat().st_size else f"progress.csv: {error}"
        ) from None
    torn = bool(rows) and (len(rows[-1]) < len(header) or not text.endswith(("\n", "\r")))
    rows = rows[:-1] if torn else rows
    for number, row in enumerate(rows, 2):
        if len(row) != len(header):
            raise Damaged(
                f"progress.csv line {number} has {len(row)} values for {len(header)} columns"
            )
    if not rows:
        raise Damaged("progress.csv has no whole epoch")
    if len(set(header)) < len(header):
        raise Damaged("progress.csv names a column twice")
    return header, rows, torn


def _metrics(header: list[str], rows: list[list[str]]) -> pl.DataFrame:
    for needed in NEEDED:
        if needed not in header:
            raise Damaged(f"progress.csv has no column {needed}")
    table = pl.DataFrame(rows, schema=dict.fromkeys(header, pl.String), orient="row")
    columns = {}
    for name in header:
        values = table[name].cast(pl.Float64, strict=False)
        if name in COLUMNS and values.null_count():
            bad = table[name].filter(values.is_null())[0]
            raise Damaged(f"progress.csv has {bad!r} in column {name}")
        kept = table[name] if values.null_count() else values.cast(pl.Float32)
        for ours in COLUMNS.get(name, (name,)):
            kind = METRICS.get(ours)
            columns[ours] = kept if kind is None else values.cast(kind, strict=False)
    frame = pl.DataFrame(columns)
    if frame["epoch"].to_list() != list(range(frame.height)):
        raise Damaged("progress.csv does not count its epochs 0, 1, 2, ...")
    return frame


def _row(config: dict[str, Any], name: str) -> dict[str, Any]:
    algorithm = str(config["algo"])
    task = str(config["env_id"])
    seed = int(config["seed"])
    settings = {**config.get("algo_cfgs", {}), **config.get("lagrange_cfgs", {})}
    rule, at = _rule(algorithm, config.get("lagrange_cfgs", {}))
    limit = None if rule == Fixed.name else settings.get("cost_limit")
    label = (
        f"fixed-{at:.6g}"
        if rule == Fixed.name
        else rule + (f"-d{limit:g}" if limit is not None else "")
    )
    return {
        "run": f"{algorithm}-{short(task)}-{label}-s{seed}",
        "stage": "sweep" if rule == Fixed.name else "compare",
        "task": task,
        "algorithm": f"omnisafe-{LEARNERS.get(algorithm, algorithm)}",
        "rule": rule,
        "lambda": at,
        "limit": limit,
        "seed": seed,
        "steps": int(config["train_cfgs"]["total_steps"]),
        "params": json.dumps({"folder": name, "omnisafe": config}),
        "status": "done",
        "reason": None,
    }


def _rule(algorithm: str, lagrange: dict[str, Any]) -> tuple[str, float | None]:
    """Our name of the multiplier's rule, and lambda where it is fixed. OmniSafe fixes it by a
    learning rate of 0.
    """
    if "pid_kp" in lagrange:
        return "pid", None
    if "lambda_lr" in lagrange:
        if float(lagrange["lambda_lr"]) == 0:
            return Fixed.name, float(lagrange["lagrangian_multiplier_init"])
        return "ga", None
    return algorithm.lower(), None


def _units(found: list[Log]) -> dict[str, list[Log]]:
    """Runs of one learner on one task share files."""
    units: dict[str, list[Log]] = {}
    for log in found:
        log.row["unit"] = f"{log.row['algorithm']}-{short(log.row['task'])}"
        units.setdefault(log.row["unit"], []).append(log)
    return units
