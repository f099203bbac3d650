"""The runner `uml` with fullpipe's emulator for every path, to compare it with Linux' own queueing disciplines."""

from fullpipe.wings.real.runners.uml import Uml

RUNNER = Uml(
    "uml-emulator",
    "as uml, but behind fullpipe's emulator where Linux' own queueing disciplines would do, too",
    emulates=True,
)
