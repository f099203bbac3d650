"""`python -m fullpipe`."""

from fullpipe.cli import main

main()
