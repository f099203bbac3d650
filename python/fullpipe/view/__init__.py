"""A run as tables on a terminal and as a picture over time."""
