"""Names with their purposes, their explanations, and what this machine has."""
