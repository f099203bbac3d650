"""Algorithms of fullpipe in Linux' own TCP, loaded as BPF by the program `fullpipe-kernel`.

`program` calls it; `machine` finds what this machine lacks for it; `parameters` reads those of an algorithm; `holder`
starts the process that keeps an algorithm loaded.
"""
