"""Where a value is in a TOML text. The standard parser does not say, and a person wants the
line.
"""

import re

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?")
_KEY = re.compile(r"""\s*("[^"]*"|'[^']*'|[A-Za-z0-9_-]+)(?:\s*\.\s*[^=]+?)?\s*=""")


def line_of(text: str, path: tuple[str | int, ...]) -> int | None:
    """Number of the line, from 1, on which the value at `path` begins, or its nearest enclosing
    value; None if unknown.

    Tables, arrays of tables and keys at the start of a line are found; in an inline value, the line
    of its key, or of the word itself where a value spans several lines.
    """
    found: tuple[int, int] | None = None  # depth reached, line
    table: tuple[str | int, ...] = ()
    counts: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        header = _HEADER.match(line)
        if header and "=" not in line.split("]")[0]:
            table = _table(header, counts)
            found = _deeper(found, table, path, number)
            continue
        key = _KEY.match(line)
        if key:
            found = _deeper(found, (*table, key[1].strip("\"'")), path, number)
        last = str(path[-1]) if path else ""
        inside = (
            found is not None and len(table) < found[0] < len(path) and path[: len(table)] == table
        )
        if (
            inside
            and isinstance(path[-1], str)
            and re.search(rf"(?<![\w-]){re.escape(last)}[\"']?\s*=", line)
        ):
            return number
    return found[1] if found else None


def _table(header: re.Match[str], counts: dict[str, int]) -> tuple[str | int, ...]:
    names = [
        name.strip().strip("\"'")
        for name in re.findall(r"""\s*("[^"]*"|'[^']*'|[^.]+)""", header[2])
    ]
    path: list[str | int] = []
    for i, name in enumerate(names):
        path.append(name)
        whole = ".".join(names[: i + 1])
        if header[1] == "[[" and i == len(names) - 1:
            counts[whole] = counts.get(whole, -1) + 1
        if whole in counts:
            path.append(counts[whole])
    return tuple(path)


def _deeper(
    found: tuple[int, int] | None,
    here: tuple[str | int, ...],
    path: tuple[str | int, ...],
    number: int,
) -> tuple[int, int] | None:
    """The better of what was found and a value at `here`: the deeper prefix of `path`, the earlier
    line.
    """
    if path[: len(here)] != here or (found is not None and found[0] >= len(here)):
        return found
    return len(here), number
