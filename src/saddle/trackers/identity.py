"""A run's name in somebody else's store."""

import hashlib

from saddle.study.store import Study


def identity(study: Study, run: str) -> str:
    """The same each time that the study is resumed, another one in another study."""
    made = study.manifest.get("created", "")
    text = f"{made} {study.path.absolute()} {run}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]
