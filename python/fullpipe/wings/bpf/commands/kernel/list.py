"""`fullpipe kernel list`."""

from typing import Annotated

from fullpipe.commands.declare import Option
from fullpipe.commands.options import AS_JSON
from fullpipe.errors import printing, user_errors


def command(
    *,
    as_json: Annotated[bool, Option("--json", help=AS_JSON)] = False,
) -> None:
    """List the algorithms, and which are loaded.

    Examples:
        fullpipe kernel list
    """
    from fullpipe.wings.bpf import loaded
    from fullpipe.wings.bpf.program import objects

    with user_errors():
        known = objects()
        present = {each.name: each for each in loaded.every()}
    with printing():
        if as_json:
            import json

            rows = [
                {
                    "algorithm": each.algorithm,
                    "name": each.name,
                    "loaded": each.name in present,
                    "parameters": dict(each.parameters),
                }
                for each in known.values()
            ]
            print(json.dumps({"algorithms": rows}))
            return
        wide = max(map(len, known), default=0)
        for each in known.values():
            there = present.get(each.name)
            state = f"loaded {there.holder()}" if there else "not loaded"
            print(f"{each.algorithm:{wide}}  {each.name:{wide + 3}}  {state}")
