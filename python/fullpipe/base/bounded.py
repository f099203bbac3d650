"""JSON of others, whose small files may become large in memory."""

from __future__ import annotations

MOST_BYTES = 4 << 30
"""The most memory that a text and its values may need, as estimated."""
_COSTS = ((b"{", 184), (b"[", 88), (b",", 32), (b":", 32))
"""Bytes of CPython's values for each mark of a text: an object with a key, an array, places in both and numbers."""
_TEXT = 8
"""Bytes for each byte of a text: itself, decoded, and as values."""


class TooLargeError(ValueError):
    """The values of a JSON text may need more memory than permitted; the text has both."""


class Weight:
    """The memory that a text of JSON may need, while its parts come."""

    def __init__(self) -> None:
        self.bytes = 0

    def add(self, part: bytes) -> None:
        """Adds a part.

        Raises:
            TooLargeError: When that is too much.
        """
        self.bytes += _TEXT * len(part) + sum(part.count(mark) * cost for mark, cost in _COSTS)
        if self.bytes > MOST_BYTES:
            raise TooLargeError(f"its JSON may need more than {MOST_BYTES >> 30} GiB of memory")
