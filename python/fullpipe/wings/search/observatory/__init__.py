"""Every algorithm on about 600 paths, as one site of files: a matrix for each family of paths. `make observatory`.

- `families/*.toml`: the scenarios and axes, one family each; `common.toml` is for all of them.
- `plan.py` reads them. `measure.py` runs them, each as a sweep that the same command resumes, and
  reduces the rows to one value for each metric and seed. `site.py` writes the pages.
"""
