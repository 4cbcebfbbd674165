"""Episodes that were drawn of a policy with a dial, as a study keeps them: pictures and a list."""

import base64
from pathlib import Path
from typing import Any, NamedTuple

from saddle import files
from saddle.study.store import Study

FOLDER, LIST = "episodes", "episodes.json"


class DrawnEpisodes(NamedTuple):
    """Of one run: each has `lambda`, `return`, `cost` and `picture`, an address that holds it."""

    run: str
    episodes: list[dict[str, Any]]


def keep(study: Study, run: str, episodes: list[dict[str, Any]], pictures: list[bytes]) -> None:
    """Write the pictures (PNG), then the list that names them."""
    folder = study.path / FOLDER
    folder.mkdir(exist_ok=True)
    listed = []
    for place, (facts, picture) in enumerate(zip(episodes, pictures, strict=True)):
        name = f"{place}.png"
        files.write(folder / name, picture, files.AGAIN, durable=False)
        listed.append({**facts, "picture": name})
    files.write_json(folder / LIST, {"run": run, "episodes": listed})


def drawn_episodes(study: Study) -> DrawnEpisodes | None:
    """What was kept; None where nothing was, or not all of it is there."""
    folder = study.path / FOLDER
    facts = files.read_json(folder / LIST)
    try:
        episodes = [
            {**one, "picture": _address(folder / one["picture"])} for one in facts["episodes"]
        ]
        return DrawnEpisodes(facts["run"], episodes)
    except (KeyError, OSError):
        return None


def _address(picture: Path) -> str:
    """An address that holds the picture, for a page that loads nothing."""
    return f"data:image/png;base64,{base64.b64encode(picture.read_bytes()).decode()}"
