"""Which arm of a fleet is better: estimates with their uncertainty, what may be wrong with them, and a decision."""
