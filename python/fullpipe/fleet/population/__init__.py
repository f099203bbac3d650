"""A population of simulated paths, downloaded over under several algorithms, as a fleet directory."""
