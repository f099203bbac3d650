"""`fullpipe trace judge`: the behavior of a flow in a trace, compared with a model over the same path.

`source.py` reads a trace, `observed.py` has its series, `conditions/` has the rules, one function each,
`judge.py` evaluates them, `model.py` runs the model, `show.py` and `page.py` present the result.
"""
