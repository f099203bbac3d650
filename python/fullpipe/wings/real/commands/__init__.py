"""Commands: each module has its name."""
