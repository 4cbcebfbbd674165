"""How to install what the base package leaves out."""

DISTRIBUTION = "saddle-rl"  # the name on the package index, where `saddle` is somebody else's


def install(extra: str) -> str:
    """The command that adds an extra of pyproject.toml to this installation."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"
