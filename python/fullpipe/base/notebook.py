"""Output in a notebook: whether Python runs in one, and a line of progress in a cell."""

from __future__ import annotations

import html
import sys
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping


class _Handle(Protocol):
    def update(self, obj: Mapping[str, str], *, raw: bool) -> None: ...


def is_notebook() -> bool:
    """Whether a cell runs the code: with a kernel of Jupyter, not IPython on a terminal, and not in a thread."""
    if current_thread() is not main_thread():
        return False
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


class Line:
    """A bar with words below the running cell. It disappears at the end."""

    def __init__(self) -> None:
        self._handle: _Handle | None = None

    def show(self, done: float, total: float, words: str) -> None:
        """Updates the bar: `done` of `total`, described by `words`."""
        share = min(max(done / total, 0.0), 1.0) if total else 0.0
        bar = f'<progress max="1" value="{share:.4f}"></progress>'
        self._put({"text/plain": words, "text/html": f"{bar} {html.escape(words)}"})

    def stop(self) -> None:
        """Removes the bar."""
        if self._handle is not None:
            self._put({"text/plain": "", "text/html": ""})

    def _put(self, forms: Mapping[str, str]) -> None:
        from IPython.display import display  # type: ignore[import-not-found, unused-ignore]

        if self._handle is None:
            self._handle = display(forms, raw=True, display_id=True)  # type: ignore[no-untyped-call, unused-ignore]
        else:
            self._handle.update(forms, raw=True)
