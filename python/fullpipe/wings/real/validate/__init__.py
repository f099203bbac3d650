"""`fullpipe validate`: compares the simulator with Linux's own TCP, cell by cell."""
