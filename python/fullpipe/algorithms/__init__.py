"""Names of algorithms, and the classes, libraries, crates and policies behind them."""
