"""`fullpipe plugin header`."""

from fullpipe.errors import printing


def command() -> None:
    """Print the folder of fullpipe.h, for C and C++.

    Examples:
        fullpipe plugin header
        cc -O2 -shared -fPIC -I"$(fullpipe plugin header)" mine.c -o libmine.so
        fullpipe compare cubic ./libmine.so
    """
    from fullpipe.algorithms.plugins.crate import sources

    with printing():
        print(sources() / "include")
