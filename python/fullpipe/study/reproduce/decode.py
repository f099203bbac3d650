"""Decodes the name of a published row into a scenario, by the file's `[decoding]` and `[scenario]`."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from fullpipe.study.reproduce.toml import scenario_text
from fullpipe.study.verdicts.reader import merged

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fullpipe.study.verdicts.reader import Json, Reader, Table

_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_CHECK_DECIMALS = 2


class Decoder:
    """Decoder of row names into scenarios."""

    def __init__(self, reader: Reader, raw: Table) -> None:
        self.reader = reader
        keys = reader.table(raw.get("decoding"), "decoding")
        reader.only(keys, "decoding.", ("pattern", "flows", "check", "parts"))
        pattern = reader.text(keys.get("pattern"), "decoding.pattern")
        try:
            self.pattern = re.compile(pattern, re.VERBOSE)
        except re.error as error:
            fix = "write a regular expression in Python's syntax"
            reader.refuse("decoding.pattern", pattern, str(error), fix)
        self.flows = reader.texts(keys.get("flows"), "decoding.flows")
        self.parts = self._parts(keys)
        self.known = {
            *self.pattern.groupindex,
            *(key for part in self.parts.values() for key in _keys(part)),
        }
        for number, flow in enumerate(self.flows):
            if flow not in self.pattern.groupindex:
                fix = f"use names of the pattern: {', '.join(self.pattern.groupindex)}"
                reader.refuse(
                    f"decoding.flows[{number}]", flow, "is not a group of decoding.pattern", fix
                )
        self.check = reader.table(keys["check"], "decoding.check") if "check" in keys else None
        self.checked = (
            [reader.text(self.check.get("column"), "decoding.check.column")] if self.check else []
        )
        self.scenario = reader.table(raw.get("scenario"), "scenario")

    def decode(
        self, name: str, where: str, values: Mapping[str, float], algorithms: Table
    ) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        """Returns the scenario's TOML, and the flows' algorithms by their published names and by ours."""
        match = self.pattern.fullmatch(name)
        if match is None:
            self.reader.refuse(
                where, name, "does not match decoding.pattern", "correct the name or the pattern"
            )
        parts = self._values(
            {key: value for key, value in match.groupdict().items() if value is not None},
            where,
            name,
        )
        names = tuple(parts[flow] for flow in self.flows if flow in parts)
        filled = {key: value for key, value in self.scenario.items() if key != "flow"}
        each = self.reader.table(self.scenario.get("flow", {}), "scenario.flow")
        flows = []
        for flow in names:
            if flow not in algorithms:
                self.reader.refuse(
                    where, name, f"has the unknown algorithm {flow}", f"add [algorithms.{flow}]"
                )
            flows.append(merged(each, self.reader.table(algorithms[flow], f"algorithms.{flow}")))
        ccs = tuple(
            self.reader.text(flow.get("cc"), f"algorithms.{name}.cc")
            for name, flow in zip(names, flows, strict=True)
        )
        if self.check:
            self._prove(self.check, parts, values, f"{where} {name}")
        comment = f"{name}\nDecoded from {self.reader.file.name}"
        filled_flows = [self._filled(flow, parts) for flow in flows]
        return scenario_text(comment, self._filled(filled, parts), filled_flows), names, ccs

    def _parts(self, keys: Table) -> dict[str, Table]:
        parts = self.reader.table(keys.get("parts", {}), "decoding.parts")
        for part in parts:
            if part not in self.pattern.groupindex:
                fix = f"use names of the pattern: {', '.join(self.pattern.groupindex)}"
                self.reader.refuse(
                    f"decoding.parts.{part}", None, "is not a group of decoding.pattern", fix
                )
        return {
            part: self.reader.table(value, f"decoding.parts.{part}")
            for part, value in parts.items()
        }

    def _values(self, groups: dict[str, str], where: str, name: str) -> dict[str, str]:
        """Returns the parts of a name, with the values they stand for."""
        values = dict(groups)
        for part, meanings in self.parts.items():
            if part not in groups:
                continue
            if groups[part] not in meanings:
                fix = f"add {json.dumps(groups[part])} to [decoding.parts.{part}]"
                self.reader.refuse(
                    where,
                    name,
                    f"its {part} is not in decoding.parts",
                    fix,
                )
            key = f"decoding.parts.{part}.{groups[part]}"
            meaning = self.reader.table(meanings[groups[part]], key)
            values.update(
                {each: self.reader.text(value, f"{key}.{each}") for each, value in meaning.items()}
            )
        return values

    def _prove(
        self, check: Table, parts: dict[str, str], values: Mapping[str, float], where: str
    ) -> None:
        """Checks the column that can be computed from the path against the decoded path."""
        if self.checked[0] not in values:
            return
        keys = ("packets", "packet_bytes", "rate_mbps", "rtt_ms")
        self.reader.only(check, "decoding.check.", ("column", *keys))
        number = {}
        for key in keys:
            text = self._fill(check.get(key, ""), parts, f"decoding.check.{key}")
            try:
                number[key] = float(str(text))
            except ValueError:
                self.reader.refuse(
                    f"decoding.check.{key}",
                    check.get(key),
                    "is not a number",
                    "write a number or a {part}",
                )
        bdp_bytes = number["rate_mbps"] * 1e6 / 8 * number["rtt_ms"] / 1e3
        ours = number["packets"] * number["packet_bytes"] / bdp_bytes
        published = values[self.checked[0]]
        if abs(ours - published) > 0.5001 * 10**-_CHECK_DECIMALS:
            fix = "correct the row, or the decoding of its name"
            self.reader.refuse(
                f"{where} {self.checked[0]}", published, f"the name gives {ours:.4g}", fix
            )

    def _filled(self, table: Table, parts: dict[str, str], where: str = "scenario") -> Table:
        """Returns a table with placeholders filled in, without keys whose placeholder has no value."""
        filled: Table = {}
        for key, value in table.items():
            path = f"{where}.{key}"
            new = (
                self._filled(value, parts, path)
                if isinstance(value, dict)
                else self._fill(value, parts, path)
            )
            if new is not None:
                filled[key] = new
        return filled

    def _fill(self, value: Json, parts: dict[str, str], key: str) -> Json | None:
        if not isinstance(value, str):
            return value
        wanted = _PLACEHOLDER.findall(value)
        for part in wanted:
            if part not in self.known:
                self.reader.refuse(
                    key,
                    value,
                    f"{{{part}}} is not a known part",
                    f"use one of {', '.join(sorted(self.known))}",
                )
        if any(part not in parts for part in wanted):
            return None
        return _PLACEHOLDER.sub(lambda match: parts[match[1]], value)


def _keys(part: Table) -> Iterable[str]:
    for meaning in part.values():
        if isinstance(meaning, dict):
            yield from meaning
