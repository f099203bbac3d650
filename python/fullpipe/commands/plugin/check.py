"""`fullpipe plugin check`."""

from typing import Annotated

from fullpipe.commands.declare import Argument, Option
from fullpipe.errors import fail, printing, user_errors

_IN_PYTHON = {
    "cx.rng": "cx.random()",
    "on_recovery(Enter)": "on_recovery of the kind enter",
    "RecoveryOwner::Own": 'recovery = "own"',
    "conn.smss": "cx.conn.smss",
}
"""Names in fixes, with those of a class in Python."""


def command(
    library: Annotated[
        str,
        Argument(
            metavar="LIBRARY|CRATE|FILE:CLASS",
            complete=("files",),
            help="Shared library, directory of a crate, class in a Python file, or trained policy.",
        ),
    ],
    sequences: Annotated[
        int,
        Option(
            min=1,
            metavar="N",
            help="Number of random sequences of events, for each transport and set of parameters.",
        ),
    ] = 200,
    same_as: Annotated[
        str | None,
        Option(
            metavar="CC",
            complete=("algorithms",),
            help="Run the algorithm and CC in the same scenarios, too, and print the first difference of each.",
        ),
    ] = None,
) -> None:
    """Test that an algorithm keeps the contract.

    Random transports, such as TCP and QUIC can be (for a class only TCP), call the algorithm:
    with losses, timeouts, marks and changes of the path. Every decision must be valid, all data
    must arrive, and the same calls must lead to the same decisions. Prints the shortest
    sequence that breaks a rule, with the rule and a fix, and ends with exit code 1.

    With --same-as, the algorithm and another one run on the same paths with the same random
    numbers. Their traces, with a row at each ACK, are equal if both decide the same; the time of
    the first difference is where their rules part. A difference ends with exit code 1.

    Examples:
        fullpipe plugin check my-reno
        fullpipe plugin check mine.py:Mine
        fullpipe plugin check libmine.so --sequences 5000
        fullpipe plugin check ./my-bbr --same-as bbr3
    """
    from fullpipe import _core
    from fullpipe.algorithms.plugins import load_plugin
    from fullpipe.algorithms.resolve import bare, described, params_of, resolve
    from fullpipe.runners import refuse_kind

    with user_errors():
        refuse_kind(library, "plugin check")
        if params_of(library):
            fail(
                f"{library}: the contract is checked with the default parameters\n"
                f"  fix: write {bare(library)}"
            )
        other = None if same_as is None else _named(same_as)
        found = resolve(library)
        name = found.name if found else load_plugin(library)
        classes = described([name])
        broken = _core.check_contract(name, classes, sequences)
        for rust, python in _IN_PYTHON.items() if classes else ():
            broken = broken and broken.replace(rust, python)
    with printing():
        print(broken or f"{name} keeps the contract: no breach in {sequences} sequences")
    differs = other is not None and _differs(name, other)
    if broken or differs:
        raise SystemExit(1)


def _named(text: str) -> str:
    """Returns the name of the algorithm to compare with."""
    from fullpipe import _core
    from fullpipe.algorithms.resolve import bare, resolve

    found = resolve(text)
    if found is None and bare(text) not in {each["name"] for each in _core.algorithms()}:
        fail(
            f"--same-as {text}: no algorithm of this name\n  fix: `fullpipe list algorithms` has the names"
        )
    return found.name if found else text


def _differs(name: str, other: str) -> bool:
    """Prints where an algorithm differs from another one; returns whether it does."""
    from fullpipe.study.alike import differences

    with user_errors():
        every = [each for _, each in differences(name, other)]
    different = [each for each in every if each]
    with printing():
        print(f"{name} decides like {other} in {len(every) - len(different)} of {len(every)} runs")
        for each in different:
            print(
                f"  {each.setup.words}: from {each.time_s:.6f} s on, "
                f"{each.column.removeprefix('own.')} in {each.table} is {each.ours}, not {each.theirs}"
            )
    return bool(different)
