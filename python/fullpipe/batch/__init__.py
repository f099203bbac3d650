"""Many runs: what executes them, in which order, and where finished ones are stored. Commands share it."""
