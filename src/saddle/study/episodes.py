"""Episodes that were drawn at several multipliers, as a study keeps them: pictures and a list."""

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from saddle import files
from saddle.study.store import Study

FOLDER, LIST = "episodes", "episodes.json"


class Drawing(NamedTuple):
    """What is drawn of an episode."""

    picture: bytes
    """PNG."""
    film: bytes | None = None
    """GIF, of worlds that draw themselves."""


class DrawnEpisodes(NamedTuple):
    """Of one task and learner, one of whose runs is named: each has `lambda`, `return`, `cost` and,
    where it is read, `picture` and perhaps `film`, addresses that hold them.
    """

    run: str
    episodes: list[dict[str, Any]]


def keep(study: Study, drawn: Sequence[DrawnEpisodes], drawings: Sequence[list[Drawing]]) -> None:
    """Write the drawings of each, then the list that names them."""
    folder = study.path / FOLDER
    folder.mkdir(exist_ok=True)
    listed = []
    for place, (one, own) in enumerate(zip(drawn, drawings, strict=True)):
        named = []
        for number, (facts, drawing) in enumerate(zip(one.episodes, own, strict=True)):
            name = f"{place}-{number}.png"
            files.write(folder / name, drawing.picture, files.AGAIN, durable=False)
            names = {"picture": name}
            if drawing.film is not None:
                names["film"] = f"{place}-{number}.gif"
                files.write(folder / names["film"], drawing.film, files.AGAIN, durable=False)
            named.append({**facts, **names})
        listed.append({"run": one.run, "episodes": named})
    files.write_json(folder / LIST, {"drawn": listed})


def drawn_episodes(study: Study) -> list[DrawnEpisodes]:
    """What was kept, as far as all of it is there."""
    folder = study.path / FOLDER
    found = []
    for one in files.read_json(folder / LIST).get("drawn", ()):
        try:
            episodes = [_with_addresses(folder, facts) for facts in one["episodes"]]
            found.append(DrawnEpisodes(one["run"], episodes))
        except (KeyError, OSError):
            continue
    return found


def _with_addresses(folder: Path, facts: dict[str, Any]) -> dict[str, Any]:
    """What is known of an episode, with drawings in place of their names."""
    drawings = {key: facts[key] for key in ("picture", "film") if key in facts}
    return {**facts, **{key: _address(folder / name) for key, name in drawings.items()}}


def _address(drawing: Path) -> str:
    """An address that holds the drawing, for a page that loads nothing."""
    kind = drawing.suffix.removeprefix(".")
    return f"data:image/{kind};base64,{base64.b64encode(drawing.read_bytes()).decode()}"
