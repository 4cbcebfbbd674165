"""How XLA calls a foreign function on the CPU: one pointer, to a frame (xla/ffi/api/c_api.h, beside JAX's headers).

The offsets, in bytes, are those of that header since its version 0.1.
"""

EXTENSION, API, ARGUMENTS, RESULTS = 8, 16, 72, 112  # in a frame; the last two are arrays of buffers
DATA = 24  # in a buffer
EXTENSION_KIND, METADATA, METADATA_KIND = 8, 24, 1  # in an extension: its kind, and what it points to
API_VERSION, METADATA_VERSION = 32, 24  # major and minor, in the API and in metadata
TRAITS, STATE = 32, 40  # in metadata: none, and no type


def unpacked(arguments: int, results: int) -> list[str]:
    """LLVM code that sets %in0, ... and %out0, ... to the data, and answers a frame that only asks for metadata."""
    lines = [
        *_load("extension", "frame", EXTENSION, "ptr"),
        "  %extended = icmp ne ptr %extension, null",
        "  br i1 %extended, label %look, label %work",
        "look:",
        *_load("kind", "extension", EXTENSION_KIND, "i32"),
        f"  %asks = icmp eq i32 %kind, {METADATA_KIND}",
        "  br i1 %asks, label %answer, label %work",
        "answer:",
        *_load("api", "frame", API, "ptr"),
        *_load("version", "api", API_VERSION, "i64"),
        *_load("metadata", "extension", METADATA, "ptr"),
        *_store("metadata", METADATA_VERSION, "i64 %version"),
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
    return [f"  %{name}_at = getelementptr i8, ptr %{base}, i64 {offset}", f"  %{name} = load {kind}, ptr %{name}_at"]


def _store(base: str, offset: int, value: str) -> list[str]:
    at = f"{base}_{offset}"
    return [f"  %{at} = getelementptr i8, ptr %{base}, i64 {offset}", f"  store {value}, ptr %{at}"]
