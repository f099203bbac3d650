"""`fullpipe kernel status`."""

from typing import Annotated

from fullpipe.commands.declare import Argument, Option
from fullpipe.commands.options import AS_JSON
from fullpipe.errors import printing, user_errors


def command(
    algorithm: Annotated[
        str | None,
        Argument(metavar="ALGORITHM", complete=("bpf",), help="Algorithm (default: all)."),
    ] = None,
    *,
    as_json: Annotated[bool, Option("--json", help=AS_JSON)] = False,
) -> None:
    """Show who holds and uses the loaded algorithms.

    Prints a line for each loaded algorithm: the process whose end unloads it, the sockets that use
    it in all network namespaces, whether it is the default of this one, and the parameters that
    were set. An algorithm that is unloaded has a line while sockets use it. The exit code is 1 if it
    is not loaded.

    Examples:
        fullpipe kernel status
        fullpipe kernel status bbr3
    """
    from fullpipe.wings.bpf import loaded
    from fullpipe.wings.bpf.program import named

    with user_errors():
        wanted = None if algorithm is None else named(algorithm).name
        every, unloaded = loaded.split()
        found = [each for each in every if wanted in (None, each.name)]
        left = [each for each in unloaded if wanted in (None, each.name)]
    with printing():
        if as_json:
            import json

            rows = {
                "loaded": [each._asdict() for each in found],
                "unloaded": [each._asdict() for each in left],
            }
            print(json.dumps(rows))
        elif not found and not left:
            print(f"{wanted} is not loaded" if wanted else "nothing is loaded")
        for each in () if as_json else found:
            parts = [f"{each.name}: loaded {each.holder()}", f"used by {each.used()}"]
            if each.default:
                parts.append("the default of this network namespace")
            parts += [
                f"{name} = {value if isinstance(value, str) else f'{value:g}'}"
                for name, value in (each.parameters or {}).items()
            ]
            print(", ".join(parts))
        for gone in () if as_json else left:
            print(f"{gone.name}: not loaded, still used by {gone.used()} until they close")
    if wanted and not found:
        raise SystemExit(1)
