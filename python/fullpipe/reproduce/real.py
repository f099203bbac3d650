"""What of a published file is another on a real stack: `[real]`, and `real` of a claim.

A kernel's algorithm can't be told what ours can, and a machine's clock is noisy: so there are other
settings and wider bounds, each beside what it takes the place of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe.verdicts.reader import merged

if TYPE_CHECKING:
    from fullpipe.verdicts.reader import Reader, Table

_KEYS = ("scenario", "algorithms", "metrics", "exception")
_CLAIM = ("within", "why", "report")


def simulated(raw: Table) -> Table:
    """The file without what is for real stacks alone."""
    return _without(
        raw,
        [{key: value for key, value in claim.items() if key != "real"} for claim in _claims(raw)],
    )


def measured(reader: Reader, raw: Table) -> Table:
    """The file as it holds on real stacks.

    The scenario is merged. An algorithm is replaced as a whole, since what it is told here may be
    refused there. A metric gets another tolerance; exceptions come behind the others and win over
    them.

    Raises:
        PublishedError: When `real` is not as it should be.
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
    """Metrics with another tolerance: it does not mix with the old one."""
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
