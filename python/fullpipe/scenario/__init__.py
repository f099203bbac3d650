"""A scenario's text, wherever it comes from, and the options that change it."""
