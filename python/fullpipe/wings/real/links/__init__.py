"""`fullpipe link`: any program behind an emulated path."""
