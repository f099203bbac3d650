"""The panels of a report: each module builds sections from saved results, independent of drawing."""
