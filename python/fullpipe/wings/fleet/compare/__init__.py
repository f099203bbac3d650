"""Comparison of a fleet's arms: estimates with their uncertainty, checks, and a decision.

`plan.py` scans the tables for arms, clusters, strata and times. `count.py` scans them again and
keeps counts by arm, cluster, stratum and bucket, never rows, so memory does not grow with the
number of rows. `estimate.py` multiplies these counts by weights of clusters: all ones for the
estimate, a resample's draws for an interval, a zero to leave a host out. `metrics.py` declares each
metric once, `decide.py` computes effects and verdicts, and `checks.py` looks for flaws.
`figures.py` and `page.py` build a report from blocks of `report.model`. The statistics are in
`stats.clusters` and `stats.sketch`.
"""
