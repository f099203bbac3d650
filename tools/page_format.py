"""Writes web/src/format.ts: the types of a report's page data, from python/fullpipe/report/page_data.py.

tests/python/test_report_page.py compares it; `FULLPIPE_BLESS=1` writes it.
"""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Literal, Union, get_args, get_origin, get_type_hints

from fullpipe.report import page_data

FILE = Path(__file__).parents[1] / "web/src/format.ts"
_PLAIN = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null"}


def text() -> str:
    """Returns the text of the file."""
    parts = [
        "// Types of the data of a report's page. tools/page_format.py writes this file from page_data.py.",
        f"export const VERSION = {page_data.VERSION};",
    ]
    for each in page_data.TYPES:
        lines = [f"  {name}: {_type(kind)};" for name, kind in get_type_hints(each).items()]
        about = (each.__doc__ or "").split("\n")[0]
        parts.append(
            "\n".join([f"/** {about} */", f"export interface {each.__name__} {{", *lines, "}"])
        )
    return "\n\n".join(parts) + "\n"


def _type(kind: object) -> str:
    arguments = get_args(kind)
    match get_origin(kind):
        case None if isinstance(kind, type):
            return _PLAIN.get(kind, kind.__name__)
        case origin if origin is list:
            (of,) = arguments
            inner = _type(of)
            return f"({inner})[]" if "|" in inner else f"{inner}[]"
        case origin if origin is dict:
            return f"Record<string, {_type(arguments[1])}>"
        case origin if origin is Literal:
            return " | ".join(f'"{each}"' for each in arguments)
        case origin if origin in (types.UnionType, Union):
            return " | ".join(map(_type, arguments))
    raise TypeError(f"{kind} has no type in TypeScript")


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
    sys.stdout.write(f"{FILE}\n")
