"""The frame of self-contained pages."""

from __future__ import annotations

from html import escape

from fullpipe._core import __version__


def document(title: str, body: str, styles: str, policy: str) -> str:
    """Returns a page of one file.

    Args:
        title: The title.
        body: The contents of the body, as HTML.
        styles: The style sheet.
        policy: The content security policy.
    """
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="fullpipe {__version__}">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{escape(title)}</title>
<style>{styles}</style>
</head>
<body>
{body}
</body>
</html>
"""
