"""Requirements of tests, as marks. With FULLPIPE_NO_SKIP, as in CI, a requirement that is missing is a failure."""

import importlib.util

import pytest

from fullpipe.wings.real.runners import uml

UML = pytest.mark.skipif(
    uml.RUNNER.missing() is not None, reason="user-mode Linux has not been built: make oracle"
)

ATHERIS = pytest.mark.skipif(
    importlib.util.find_spec("atheris") is None, reason="Atheris is not installed: make setup-all"
)
