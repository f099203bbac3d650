"""Names of fullpipe's algorithms in Linux' own TCP."""

PREFIX = "fp_"
"""The beginning of each."""


def stem(algorithm: str) -> str:
    """Returns the name of an algorithm's files, and after the prefix in the kernel: `ledbatpp` of `ledbat++`."""
    return algorithm.replace("+", "p")
