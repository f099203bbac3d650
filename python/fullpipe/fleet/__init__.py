"""Measurements of a real fleet of hosts: `ss`, nginx, /proc and bpftrace, as tables that can be compared."""
