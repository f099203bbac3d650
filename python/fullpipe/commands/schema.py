"""`fullpipe schema`."""

from fullpipe import _core


def command() -> None:
    """Print the JSON schema of scenario files.

    Editors use it to check and complete TOML files.

    Examples:
        fullpipe schema > scenario.schema.json
    """
    print(_core.schema(), end="")
