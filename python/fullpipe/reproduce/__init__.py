"""Results of others, run again: `published/*.toml` goes in, a table of verdicts and pictures come out."""
