"""Writes the generated pages of docs/reference: commands, cli, scenario, python, gym, score; and the table of runners.

`tests/python/docs/test_reference.py` compares the pages with what these functions return; FULLPIPE_BLESS=1 writes them.
"""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

import click
import reference_python

from fullpipe import _core, commands, runners
from fullpipe.about import explanations
from fullpipe.about.pages import PLACE
from fullpipe.algorithms.resolve import kinds
from fullpipe.commands.listing import Group
from fullpipe.commands.shared import SHARED, sharing
from fullpipe.scenario.path_options import PATH_OPTIONS
from fullpipe.wings.search.observatory.__main__ import command as observatory
from fullpipe.wings.search.score import holdout, process, race, suite
from fullpipe.wings.traces.foreign.formats import COMPRESSIONS, FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fullpipe.algorithms.resolve import Kind


def pages() -> dict[str, str]:
    """The text of each page by its name in docs/reference."""
    return {
        "commands.md": commands_map(),
        "cli.md": cli(),
        "scenario.md": scenario(),
        "python.md": reference_python.python(),
        "gym.md": reference_python.gym(),
        "score.md": score(),
    }


# --- The command -------------------------------------------------------------------------------


def commands_map() -> str:
    """The map of the commands."""
    lines = [
        "# Commands",
        "",
        "The commands of `fullpipe` by purpose, generated from the program, as in `fullpipe --help`.",
        "[Command line](cli.md) has the options of each.",
        "",
    ]
    for heading, listed in commands.app.headings.items():
        lines += [f"## {heading}", "", "| Command | Purpose |", "|---|---|"]
        for name, summary in listed.items():
            rows = [(name, summary)]
            group = commands.app.get_command(None, name)
            if isinstance(group, Group):
                rows += [(f"{name} {each}", group.summary(each)) for each in group.list_commands()]
            lines += [
                f"| [`{each}`](cli.md#fullpipe-{each.replace(' ', '-')}) | {_escaped(text)} |"
                for each, text in rows
            ]
        lines.append("")
    lines += [
        "## Options of the path",
        "",
        "These options mean the same for each command that has them: they set a key of the scenario. `--set KEY=VALUE`",
        "sets any other key. A short run has a short warm-up: a sixth of `--duration`, if the usual one is longer than",
        "half of it.",
        "",
        "| Option | Key | Meaning | Commands |",
        "|---|---|---|---|",
    ]
    for option in PATH_OPTIONS:
        having = [
            f"`{' '.join(names)}`"
            for names, command in commands.app.walk()
            if any(f"--{option.name}" in param.opts for param in command.params)
        ]
        lines.append(
            f"| `--{option.name} {option.metavar}` | `{option.key}` | {_escaped(option.help)} | {', '.join(having)} |"
        )
    lines += ["", *_shared(), ""]
    lines += [
        "## Files of other programs",
        "",
        "The content of a file tells its format and its compression, not its name. Each file may be compressed with",
        f"{' or '.join(COMPRESSIONS)}. A command refuses a format of others by naming these. `workload describe` and",
        "`workload fit` also read what `workload extract` reads. [Imported measurements](import.md), [workload",
        "tables](workload-tables.md) and [fleet tables](fleet-tables.md) have the fields of each format.",
        "",
        "| Format | Commands |",
        "|---|---|",
        *(
            f"| {_escaped(each.what)} | {', '.join(f'`{reader}`' for reader in each.readers)} |"
            for each in FORMATS.values()
        ),
    ]
    lines += [
        "",
        "## Names of algorithms",
        "",
        "A name of an algorithm means the same in every command, in a scenario and in Python. A runner that does not",
        "run its kind refuses it with the sentence. Without a sentence each runner decides: [Runners](runners.md) has",
        "the limits. A scenario names neither a file, a library nor a crate: `--plugin` loads those that it needs.",
        "In Python a class itself is an algorithm, too.",
        "",
        "| Kind | Name | Runs on | Sentence |",
        "|---|---|---|---|",
        *map(_kind, kinds()),
        "",
        "These commands do not take kinds that the simulator runs:",
        "",
        "| Command | Kinds | Reason |",
        "|---|---|---|",
        *_holes(),
        "",
        "## Former names",
        "",
        "These names of version 0.1 work until the next version, with a warning.",
        "",
        "| Former | Now |",
        "|---|---|",
        *(f"| `{name}` | `{' '.join(now)}` |" for name, now in commands.RENAMED.items()),
    ]
    return "\n".join(lines) + "\n"


def _shared() -> list[str]:
    """The options that commands share, the commands that take them, and why the others don't."""
    lines = [
        "## Shared options",
        "",
        "The commands that run experiments share these options, which mean the same in each of them.",
        "",
        "| Option | Meaning |",
        "|---|---|",
        *(f"| `{each.title}` | {_escaped(each.meaning)} |" for each in SHARED),
        "",
        "✓ is an option that the command takes. The table below has the reason of each other.",
        "",
        f"| Command | {' | '.join(f'`{each.title}`' for each in SHARED)} |",
        f"|---{'|:-:' * len(SHARED)}|",
    ]
    rows, reasons = [], []
    walked = ((" ".join(names), command) for names, command in commands.app.walk())
    for name, command, holes in sharing([*walked, ("observatory", observatory)]):
        link = f"cli.md#fullpipe-{name.replace(' ', '-')}"
        link = "../guide/observatory.md" if command is observatory else link
        cells = ["✓" if each.is_of(command) else "–" for each in SHARED]
        rows.append(f"| [`{name}`]({link}) | {' | '.join(cells)} |")
        by_reason: dict[str, list[str]] = {}
        for title, reason in holes.items():
            by_reason.setdefault(reason, []).append(f"`{title}`")
        reasons += [
            f"| `{name}` | {', '.join(titles)} | {_escaped(reason)} |"
            for reason, titles in by_reason.items()
        ]
    return [*lines, *rows, "", "| Command | Lacks | Reason |", "|---|---|---|", *reasons]


def _kind(kind: Kind) -> str:
    """The row of a kind of algorithm."""
    on = [f"`{name}`" for name in runners.names() if runners.runs(name, kind)]
    where = ", ".join(on) or "no runner"
    cells = (
        kind.name,
        ", ".join(f"`{each}`" for each in kind.written.split(", ")),
        where if kind.needs else "every runner",
        kind.only,
    )
    return f"| {' | '.join(map(_escaped, cells))} |"


def _holes() -> Iterator[str]:
    """The rows of the commands that do not take a kind."""
    found: dict[tuple[str, str], list[str]] = {}
    for kind in kinds():
        for command, (reason, _) in kind.holes.items():
            found.setdefault((command, reason), []).append(kind.name)
    for (command, reason), names in sorted(found.items()):
        yield f"| `{command}` | {', '.join(names)} | {_escaped(reason)} |"


def runners_table() -> str:
    """The table of the runners in docs/guide/runners.md."""
    rows = ["| Runner | Description | Clock | Repetition |", "|---|---|---|---|"]
    for each in runners.every():
        name, page = f"`{each.name}`", _page_of(each.name)
        name = f"[{name}]({page})" if page else name
        name += " (default)" if each.name == runners.SIMULATOR else ""
        clock, again = "its own", "identical, bit for bit"
        if each.real_time:
            clock, again = "the machine's", "varies with the machine"
        rows.append(f"| {name} | {_escaped(each.about)} | {clock} | {again} |")
    return "\n".join(rows) + "\n"


def _page_of(runner: str) -> str:
    """The file in docs/guide of a runner, or of the runner that its name begins with, as `uml` of `uml-emulator`."""
    parts = runner.split("-")
    files = (f"{'-'.join(parts[:count])}.md" for count in range(len(parts), 0, -1))
    return next((file for file in files if (PLACE / "guide" / file).is_file()), "")


def cli() -> str:
    """Every command with its help."""
    lines = [
        "# Command line",
        "",
        "Every command and option of `fullpipe`, generated from the program.",
        "`fullpipe COMMAND --help` prints the same.",
        "",
        "Exit codes: 0 success; 1 a condition, cell or claim is not met; 2 wrong usage or input;",
        "3 no condition is unmet, and one was not evaluated (`evaluate`, `trace judge`);",
        "128 + *n* ended by signal *n* (130 for Ctrl-C).",
        "",
    ]
    for names, command in commands.app.walk():
        lines += _command(("fullpipe", *names), command)
    return "\n".join(lines).rstrip() + "\n"


def _command(path: tuple[str, ...], command: click.Command) -> list[str]:
    context = click.Context(command, info_name=" ".join(path))
    usage = " ".join([*path, *command.collect_usage_pieces(context)])
    lines = [f"{'#' * len(path)} {' '.join(path)}", "", "```text", usage, "```", ""]
    for paragraph in (command.help or "").split("\n\n"):
        # \b keeps click from wrapping: a heading, then lines, which are commands or a table.
        if paragraph.lstrip().startswith("\b"):
            heading, _, rest = paragraph.lstrip().removeprefix("\b").strip("\n").partition("\n")
            language = "sh" if heading == "Examples:" else "text"
            lines += [heading, "", f"```{language}", textwrap.dedent(rest), "```", ""]
        else:
            lines += [_escaped(" ".join(paragraph.split())), ""]
    shown = [each for each in command.get_params(context) if not getattr(each, "hidden", False)]
    rows = [row for each in shown if (row := _option(each, context))]
    if rows:
        lines += ["| Argument or option | Meaning |", "|---|---|", *rows, ""]
    return lines


def _option(param: click.Parameter, context: click.Context) -> str | None:
    if "--help" in param.opts:
        return None
    if (row := param.get_help_record(context)) is None:
        return None
    names, text = row
    return f"| `{names.replace('|', chr(92) + '|')}` | {_escaped(' '.join(text.split()))} |"


def _escaped(text: str) -> str:
    """Text that Markdown leaves alone, outside of code."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(
        part if part.startswith("`") else re.sub(r"([|<>*_\[\]])", r"\\\1", part) for part in parts
    )


# --- The keys of a scenario --------------------------------------------------------------------


def scenario() -> str:
    """Every key of a scenario file."""
    lines = [
        "# Scenario keys",
        "",
        "Every key of a scenario file, generated from the program. `fullpipe explain scenario` prints the same,",
        "`fullpipe explain KEY` one of them, and `fullpipe explain --schema` a JSON Schema for editors.",
        "",
    ]
    for heading, keys in explanations.sections(_core.scenario_keys()):
        lines += [f"## {heading}", ""]
        for key in keys:
            default = "required" if key["required"] else f"default: {_code(key['default'] or '')}"
            examples = ", ".join(f"`{example}`" for example in key["examples"])
            lines += [
                f"### `{key['key']}`",
                "",
                _escaped(key["meaning"]),
                "",
                f"- Value: {_escaped(key['kind'])}",
                f"- {default[0].upper()}{default[1:]}",
                *([f"- Example: {examples}"] if examples else []),
                "",
            ]
    return "\n".join(lines).rstrip() + "\n"


def _code(default: str) -> str:
    """A literal default as code, and one in words as it is."""
    return (
        f"`{default}`"
        if re.fullmatch(r'"[^"]*"|[\d.]+|true|false|\[.*\]', default)
        else _escaped(default)
    )


# --- Suites of `fullpipe score` ----------------------------------------------------------------


def score() -> str:
    """The keys of a suite, the points, the error of a race, the hold-out, and the limits of a candidate."""
    lines = [
        "# Score",
        "",
        "Keys of a suite of [`fullpipe score`](../guide/score.md), definition of the score, and limits of a",
        "candidate, generated from the program.",
        "",
        "## Keys",
        "",
    ]
    heads = {
        "suite": "Key of the file",
        "part": "Key of `[[part]]`",
        "metric": "Key of `[[part.metric]]`",
    }
    for of, head in heads.items():
        lines += [f"| {head} | Default | Meaning |", "|---|---|---|"]
        for key in suite.KEYS:
            if key.of == of:
                lines.append(f"| `{key.name}` | {key.default or 'required'} | {key.meaning} |")
        lines.append("")
    general = suite.suite("general")
    looks = [f"{share:.0%}" for share in race.LOOKS[1:]]
    lines += [
        "## The suite general",
        "",
        f"{general.title}. Baseline `{general.baseline}`, {sum(part.cells for part in general.parts)} cells.",
        "",
        "| Part | Cells | Prior | Metrics with weights |",
        "|---|--:|---|---|",
    ]
    for part in general.parts:
        prior = ", ".join(f"`{key}` {value}" for key, value in part.prior.items())
        metrics = ", ".join(
            f"{each.name}{f' of {each.of}' if each.of != 'tested' else ''} × {each.weight:g}"
            for each in part.metrics
        )
        lines.append(f"| `{part.name}` | {part.cells} | {prior} | {metrics} |")
    lines += [
        "",
        *_paragraph(
            "## Score",
            """The points of a metric in a cell compare its value with that of the baseline on the same path with
            the same seed, on the metric's better side: the binary logarithm of the ratio, or the difference
            over `scale`, within ± `clip`. A flow without a value, such as a transfer that does not end, has −
            `clip`, or 0 if the baseline has no value either. The points of a cell are the weighted mean of its
            metrics', the score is the weighted mean of the parts' means. The interval is Student's over the
            cells, with the parts as strata and Satterthwaite's degrees of freedom
            ([Statistics](statistics.md#strata)). It is about the prior: other cells of it give another score.""",
        ),
        *_paragraph(
            "## Race",
            f"""A race looks at the candidates {len(race.LOOKS) - 1} times, after {", ".join(looks)} of the cells.
            The first {race.LOOKS[0]:.0%} only choose a leader. At each look the leader on the earlier cells is
            compared with every other candidate on the cells since the look before, which had no part in its
            choice, by a paired one-sided t-test. A candidate stops if it is worse at the level alpha / looks. A
            candidate that no other one surpasses meets one rival per look, so it stops by mistake with a
            probability of at most alpha, {race.ALPHA:g} by default, for any number of candidates.""",
        ),
        *_paragraph(
            "## Hold-out",
            f"""The cells of the hold-out are drawn from the same prior with a secret. It is in
            `$XDG_STATE_HOME/fullpipe/score`, by default `~/.local/state/fullpipe/score`, in a file of mode
            0600, and so are the values on its cells. Each command with a winner that ran to the end is a use.
            After `renew` uses, and after `--reveal`, another secret takes its place. The alarm is Welch's
            one-sided test of the shown score and that of the hold-out at the level {holdout.ALARM:g}. The part
            of the points that those of `control` on the same cells explain, by a regression within the parts,
            is taken from both before.""",
        ),
        "## Limits of a candidate",
        "",
        "| Limit | Value |",
        "|---|--:|",
        f"| time for the answer to a call, and for the import of the code | {process.PATIENCE_S:g} s |",
        f"| address space | {process.MEMORY >> 20} MiB |",
        f"| processor time of a process | {process.CPU_S} s |",
        "| open descriptors | 64 |",
        "| written files, processes, threads, sockets | 0 |",
    ]
    return "\n".join(lines) + "\n"


def _paragraph(heading: str, text: str) -> list[str]:
    return [heading, "", *textwrap.wrap(" ".join(text.split()), 120, break_long_words=False), ""]
