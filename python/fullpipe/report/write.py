"""Writes a report into the directory of its results, or elsewhere."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from fullpipe.results import disk, parents

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fullpipe.report.model import Report


class Form(StrEnum):
    """Form of a report."""

    HTML = "html"
    MD = "md"
    PDF = "pdf"
    PNG = "png"


def write_report(
    directory: Path,
    form: Form = Form.HTML,
    out: Path | None = None,
    build: Callable[[Path], Report] | None = None,
) -> Path:
    """Makes a report of saved results.

    A page or PDF is one file. Markdown and PNG make a directory of figures, for Markdown with
    `report.md`. A report can be made again at any time, so an existing one in `directory` is replaced;
    an existing `out` is not.

    Args:
        directory: Results saved by `run`, `sweep` or `reproduce`, or other data that `build` can read.
        form: Form of the report.
        out: Output file or directory; None for `report.html`, `report.pdf`, `report-md/` or
            `report-png/` in `directory`.
        build: Builds the report of the directory; None for :func:`fullpipe.report.build.build`.

    Returns:
        The file or directory.

    Raises:
        NoResultsError: When there are no results.
        FileExistsError: When `out` exists.
        OSError: When a file can't be written.
    """
    target = out or directory / name_of(form)
    if out is not None and out.exists():
        raise FileExistsError(f"--out {out} already exists; name a new file or directory")
    return make((build or _of_results)(directory), form, target)


def _of_results(directory: Path) -> Report:
    from fullpipe.report.build import build

    return build(directory)


def name_of(form: Form) -> str:
    """Returns the default name of a report."""
    return f"report.{form}" if form in (Form.HTML, Form.PDF) else f"report-{form}"


def make(report: Report, form: Form, target: Path) -> Path:
    """Writes a report atomically; replaces an existing one.

    Raises:
        OSError: When a file can't be written.
    """
    folder = form not in (Form.HTML, Form.PDF)
    with parents(target), disk.hidden(target, folder=folder) as aside:
        _write(report, form, aside)
        if target.is_dir():
            disk.remove_folder(target)
        disk.place(aside, target)
    return target


def _write(report: Report, form: Form, target: Path) -> None:
    match form:
        case Form.HTML:
            from fullpipe.report.html import page

            disk.write(target, page(report))
        case Form.PDF:
            from fullpipe.report.static import write_pdf

            write_pdf(report, target)
        case Form.PNG:
            from fullpipe.report.static import write_pictures

            write_pictures(report, target, "png")
        case Form.MD:
            from fullpipe.report.markdown import write_markdown

            write_markdown(report, target)
