"""Views of a run: tables on a terminal, and a picture over time."""
