"""Tools of every room: types of arguments, tables, TOML, metrics, progress, the terminal."""
