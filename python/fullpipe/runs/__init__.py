"""A run: its arguments, its data, and its tables and plots."""
