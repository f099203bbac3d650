"""`python -m fullpipe`."""

from fullpipe.commands import main

main()
