"""Methods of all results in a directory: report, pictures over time, copies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe.report.plots import form_of, plot_runs, report_of

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from fullpipe.runs.view.figure import Picture


class Kept:
    """Results in a directory.

    Attributes:
        directory: The directory.
    """

    directory: Path
    _png: bytes | None = None

    def report(
        self, path: str | os.PathLike[str] | None = None, *, form: str | None = None
    ) -> Path:
        """Writes the report of `fullpipe report`: summary, tables and charts.

        Args:
            path: The file or directory; None for `report.html`, or the name of another format, in `directory`.
            form: The format: `"html"`, `"pdf"`, `"tex"` (tables), `"md"`, `"png"`, `"svg"` or `"pgf"`; None to take it
                from the suffix. The last four make a directory.

        Returns:
            The file or directory. An existing file is replaced; an existing directory only in `directory`.

        Raises:
            ValueError: When the format is unknown.
            FileExistsError: When the directory exists.
            OSError: When it can't be written.
        """
        if path is not None:
            return report_of(self, path, form)
        from fullpipe.report import write_report

        return write_report(self.directory, form_of("report.html", form))

    def _over_time(
        self, path: str | os.PathLike[str] | None, panels: Sequence[str] | None
    ) -> Picture:
        return plot_runs({"": self}, path, panels=panels)

    def _charts(self, path: str | os.PathLike[str] | None, metrics: Sequence[str] = ()) -> Picture:
        from fullpipe.report.charts import draw

        figure = draw(self.directory, metrics)
        if path is not None:
            from fullpipe.results.files import write_picture

            write_picture(figure, path)
        return figure

    def _repr_png_(self) -> bytes | None:
        if self._png is None:
            self._png = self._charts(None).png()
        return self._png

    def save(self, directory: str | os.PathLike[str]) -> Path:
        """Copies the results to another directory, which appears complete or not at all.

        Returns:
            The directory.

        Raises:
            FileExistsError: When the directory exists and is not empty: nothing is overwritten.
            OSError: When it can't be written.
        """
        from fullpipe.results import disk, fresh_directory

        with fresh_directory(directory) as aside:
            for file in sorted(self.directory.rglob("*")):
                place = file.relative_to(self.directory)
                if any(part.startswith(".") for part in place.parts):
                    continue
                if file.is_dir():
                    disk.make_folder(aside / place)
                else:
                    disk.copy(file, aside / place)
        return Path(directory)
