"""A published study of a fleet, compared with a population of simulated paths.

The population is simulated into fleet directories, once for each assumption. `measures.py` takes
numbers from the arms' connections; confidence intervals resample paths, each with all of its arms.
"""
