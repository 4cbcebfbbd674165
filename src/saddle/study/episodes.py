"""Episodes that were drawn at several multipliers, as a study keeps them: pictures and a list."""

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from saddle import files
from saddle.study.store import Study

FOLDER, LIST = "episodes", "episodes.json"


class DrawnEpisodes(NamedTuple):
    """Of one task and learner, one of whose runs is named: each has `lambda`, `return`, `cost` and,
    where it is read, `picture`, an address that holds it.
    """

    run: str
    episodes: list[dict[str, Any]]


def keep(study: Study, drawn: Sequence[DrawnEpisodes], pictures: Sequence[list[bytes]]) -> None:
    """Write the pictures (PNG) of each, then the list that names them."""
    folder = study.path / FOLDER
    folder.mkdir(exist_ok=True)
    listed = []
    for place, (one, own) in enumerate(zip(drawn, pictures, strict=True)):
        named = []
        for number, (facts, picture) in enumerate(zip(one.episodes, own, strict=True)):
            name = f"{place}-{number}.png"
            files.write(folder / name, picture, files.AGAIN, durable=False)
            named.append({**facts, "picture": name})
        listed.append({"run": one.run, "episodes": named})
    files.write_json(folder / LIST, {"drawn": listed})


def drawn_episodes(study: Study) -> list[DrawnEpisodes]:
    """What was kept, as far as all of it is there."""
    folder = study.path / FOLDER
    found = []
    for one in files.read_json(folder / LIST).get("drawn", ()):
        try:
            episodes = [
                {**facts, "picture": _address(folder / facts["picture"])}
                for facts in one["episodes"]
            ]
            found.append(DrawnEpisodes(one["run"], episodes))
        except (KeyError, OSError):
            continue
    return found


def _address(picture: Path) -> str:
    """An address that holds the picture, for a page that loads nothing."""
    return f"data:image/png;base64,{base64.b64encode(picture.read_bytes()).decode()}"
