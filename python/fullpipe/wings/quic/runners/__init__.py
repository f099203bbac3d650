"""Runners: each module has its name."""
