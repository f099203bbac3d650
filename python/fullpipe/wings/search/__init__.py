"""Many runs for one question: the worst scenario of an algorithm, a score for a search, all algorithms on all paths."""

from fullpipe.wings import Wing

WING = Wing(
    "searches over drawn scenarios",
    commands={
        "Verdicts": {
            "attack": "Search the scenario where an algorithm does worst.",
            "score": "Score candidates over drawn scenarios, for a search.",
        }
    },
)
