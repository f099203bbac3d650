"""Many runs: points of a scenario, each with many seeds, as a data set of Parquet files."""
