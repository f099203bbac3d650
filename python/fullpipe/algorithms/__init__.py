"""Names of algorithms, and what is behind them: classes, libraries and crates, policies."""
