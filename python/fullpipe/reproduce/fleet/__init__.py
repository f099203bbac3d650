"""A published study of a fleet, held against a population of simulated paths."""
