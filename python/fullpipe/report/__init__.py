"""Reports of saved results: one page, or figures for a paper; `panels` selects the content.

`values.py` separates contenders from paths. Each module of `panels/` returns sections as plain data
(`model.py`: tables, lines, maps, clouds, runs over time), with statistics from `stats`; panels draw
nothing. `build.py` orders the sections. `html.py` and `svg.py` render the model as one page,
`static.py` and its neighbors (matplotlib: charts, panels over time, pages of a PDF, with the look of
`style.py`), `tex.py` and `markdown.py` in the other forms, so a panel appears in each form with the
same numbers. `figures.py` selects one figure or table, `slide.py` writes it, or one panel over time.

`assets/` holds the page's script and styles, embedded unchanged; `fullpipe.wings.pages.gallery` also uses them.
`web/` in the repository holds their lint and test tools and pins uPlot; making a report needs
nothing of it.
"""

from fullpipe.report.write import Form, SlideForm, write_panel, write_report

__all__ = ["Form", "SlideForm", "write_panel", "write_report"]
