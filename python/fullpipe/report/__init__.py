"""Reports of saved results: one page, or what a paper needs. The package `panels` says what is shown."""

from fullpipe.report.write import Form, write_report

__all__ = ["Form", "write_report"]
