"""How XLA calls a foreign function on the CPU: one pointer, to a frame (xla/ffi/api/c_api.h, beside
JAX's headers).

The offsets, in bytes, are those of that header in its version 0.3, and that is the version that a
function of ours states when XLA asks for it. XLA promises to call functions of older versions as
they expect for 12 months at least, and refuses to register one whose version it does not support. A
function that answers with XLA's own version, whatever that is, is always registered and would read
a frame of another shape at the old offsets.
"""

import re
from pathlib import Path

import jax

# Major: changes where frames are laid out anew; minor: where something is added to them
VERSION = (0, 3)
HEADER = "xla/ffi/api/c_api.h"

EXTENSION, ARGUMENTS, RESULTS = 8, 72, 112  # in a frame; the last two are arrays of buffers
DATA = 24  # in a buffer
EXTENSION_KIND = 8  # in an extension
METADATA = 24  # in an extension: what it points to
METADATA_KIND = 1  # the kind of such an extension
METADATA_VERSION = 24  # major and minor, in metadata
TRAITS, STATE = 32, 40  # in metadata: none, and no type


def mismatch() -> str | None:
    """Why XLA here does not call functions as VERSION says, in one line; None where it does.

    A newer minor version does: it only adds to frames. One that is older may lack something, and
    XLA refuses it too.
    """
    running = running_version()
    if running is None:
        return (
            f"this jaxlib does not say which version of XLA's foreign function interface it has "
            f"({HEADER})"
        )
    if running[0] != VERSION[0] or running < VERSION:
        return (
            f"XLA's foreign function interface is {_dotted(running)} here, kernels are for "
            f"{_dotted(VERSION)}"
        )
    return None


def running_version() -> tuple[int, int] | None:
    """Major and minor version of the interface of the XLA that is installed, by the header that
    comes with it.

    A frame holds it too, but at an offset: who does not know the version cannot know where.
    """
    try:
        text = (Path(jax.ffi.include_dir()) / HEADER).read_text()
    except OSError:
        return None
    found = dict(re.findall(r"^#define XLA_FFI_API_(MAJOR|MINOR) (\d+)", text, re.MULTILINE))
    if set(found) != {"MAJOR", "MINOR"}:
        return None
    return int(found["MAJOR"]), int(found["MINOR"])


def _dotted(version: tuple[int, int]) -> str:
    major, minor = version
    return f"{major}.{minor}"


def unpacked(arguments: int, results: int) -> list[str]:
    """LLVM code that sets %in0, ... and %out0, ... to the data, and answers a frame that only asks
    for metadata.
    """
    major, minor = VERSION
    lines = [
        *_load("extension", "frame", EXTENSION, "ptr"),
        "  %extended = icmp ne ptr %extension, null",
        "  br i1 %extended, label %look, label %work",
        "look:",
        *_load("kind", "extension", EXTENSION_KIND, "i32"),
        f"  %asks = icmp eq i32 %kind, {METADATA_KIND}",
        "  br i1 %asks, label %answer, label %work",
        "answer:",
        *_load("metadata", "extension", METADATA, "ptr"),
        *_store("metadata", METADATA_VERSION, f"i32 {major}"),
        *_store("metadata", METADATA_VERSION + 4, f"i32 {minor}"),
        *_store("metadata", TRAITS, "i32 0"),
        *_store("metadata", STATE, "i64 0"),
        "  ret ptr null",
        "work:",
    ]
    for what, offset, count in (("in", ARGUMENTS, arguments), ("out", RESULTS, results)):
        lines += _load(f"{what}s", "frame", offset, "ptr")
        for k in range(count):
            lines += _load(f"{what}_buffer{k}", f"{what}s", 8 * k, "ptr")
            lines += _load(f"{what}{k}", f"{what}_buffer{k}", DATA, "ptr")
    return lines


def _load(name: str, base: str, offset: int, kind: str) -> list[str]:
    return [
        f"  %{name}_at = getelementptr i8, ptr %{base}, i64 {offset}",
        f"  %{name} = load {kind}, ptr %{name}_at",
    ]


def _store(base: str, offset: int, value: str) -> list[str]:
    at = f"{base}_{offset}"
    return [f"  %{at} = getelementptr i8, ptr %{base}, i64 {offset}", f"  store {value}, ptr %{at}"]
