"""`fullpipe validate`: the simulator, cell by cell, against what Linux's own TCP did."""
