"""`fullpipe compare`: algorithms on one path, each alone, and then all together."""
