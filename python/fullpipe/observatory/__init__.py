"""Every algorithm on some 600 paths, as one site of files: a matrix for each family of paths. `make observatory`.

- `families/*.toml`: what is run, one family each; `common.toml` has what they share.
- `plan.py` reads them. `measure.py` runs them, each as a sweep that the same command resumes, and
  reduces the rows to one value for each metric and seed. `site.py` writes the pages.
"""
