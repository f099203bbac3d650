"""Differences of a published file on real stacks: `[real]`, and `real` of a claim.

A kernel's algorithm has fewer parameters than ours, and real time is noisy. Hence real stacks need
other settings and wider bounds, each written next to the one that it replaces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe.study.verdicts.reader import merged

if TYPE_CHECKING:
    from fullpipe.study.verdicts.reader import Reader, Table

_KEYS = ("scenario", "algorithms", "metrics", "exception")
_CLAIM = ("within", "why", "report")


def simulated(raw: Table) -> Table:
    """Returns the file without the parts for real stacks."""
    return _without(
        raw,
        [{key: value for key, value in claim.items() if key != "real"} for claim in _claims(raw)],
    )


def measured(reader: Reader, raw: Table) -> Table:
    """Returns the file in its form for real stacks.

    The scenario is merged. An algorithm is replaced as a whole, since a real stack may refuse its
    parameters. A metric gets a different tolerance. Exceptions are appended and take precedence.

    Raises:
        PublishedError: When `real` is invalid.
    """
    real = reader.table(raw.get("real", {}), "real")
    reader.only(real, "real.", _KEYS)
    claims = []
    for number, claim in enumerate(_claims(raw)):
        where = f"claim[{number}].real"
        changes = reader.table(claim.get("real", {}), where)
        reader.only(changes, f"{where}.", _CLAIM)
        rest = {key: value for key, value in claim.items() if key != "real"}
        claims.append({**rest, **changes})
    chosen = _without(raw, claims)
    if "scenario" in real:
        chosen["scenario"] = merged(
            reader.table(raw.get("scenario"), "scenario"),
            reader.table(real["scenario"], "real.scenario"),
        )
    for key in ("algorithms", "metrics"):
        if key in real:
            changes = reader.table(real[key], f"real.{key}")
            known = reader.table(raw.get(key, {}), key)
            reader.only(changes, f"real.{key}.", tuple(known))
            chosen[key] = (
                {**known, **changes} if key == "algorithms" else _judged(reader, known, changes)
            )
    if "exception" in real:
        chosen["exception"] = [
            *reader.tables(raw.get("exception", []), "exception"),
            *reader.tables(real["exception"], "real.exception"),
        ]
    return chosen


def _judged(reader: Reader, known: Table, changes: Table) -> Table:
    """Returns metrics with new tolerances, which replace the old ones instead of merging with them."""
    fresh: Table = {
        name: {**reader.table(known[name], f"metrics.{name}"), "tolerance": {}} for name in changes
    }
    return {**known, **merged(fresh, changes)}


def _claims(raw: Table) -> list[Table]:
    claims = raw.get("claim", [])
    return [each for each in claims if isinstance(each, dict)] if isinstance(claims, list) else []


def _without(raw: Table, claims: list[Table]) -> Table:
    chosen = {key: value for key, value in raw.items() if key != "real"}
    if claims:
        chosen["claim"] = [*claims]
    return chosen
