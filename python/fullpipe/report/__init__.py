"""Reports of kept results: one page, or what a paper needs. The package `panels` says what is shown."""

from fullpipe.report.write import Format, write_report

__all__ = ["Format", "write_report"]
