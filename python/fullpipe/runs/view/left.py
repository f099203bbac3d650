"""Words about what a picture or a table leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_NAMED = 12


def left_out(names: Sequence[str], of: int, why: str = "") -> str:
    """Returns a sentence with number and names of the omissions; empty without any.

        >>> left_out(["codel", "dualpi2"], 8)
        '2 of 8 not shown: codel, dualpi2.'

    Args:
        names: The names of the omissions.
        of: The number of all, those that are shown included.
        why: The reason, if it is not the number.
    """
    if not names:
        return ""
    more = len(names) - _MOST_NAMED
    listed = ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    return f"{len(names)} of {of} not shown{f' ({why})' if why else ''}: {listed}."
