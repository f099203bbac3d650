"""`fullpipe check`: tests scenarios against their `expect` conditions."""
