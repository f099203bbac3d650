"""Workloads: flows out of captures, what they look like, and laws that they are drawn from."""
