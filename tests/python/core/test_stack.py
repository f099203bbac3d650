"""The TCP of a run, `stack`, and parameters behind the name of an algorithm: the same through every door."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

import fullpipe

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Fullpipe

PATH: dict[str, Any] = {"rate": "10mbit", "rtt": "20ms", "duration": "2s"}
LINUX = {
    "cwnd_validation": "linux",
    "send_buffer": "auto",
    "tso": "on",
    "rto_in_recovery": "keep",
    "loss_detection": "linux",
    "ack_policy": "linux",
    "sack_compression": "5%",
    "metrics_cache": "linux",
}


def numbers(run: fullpipe.Run) -> list[dict[str, Any]]:
    """The metrics of the flows, without their names."""
    return [
        {key: value for key, value in flow.items() if key not in ("cc", "name")}
        for flow in run.flow_metrics
    ]


@pytest.mark.parametrize("cc", ["cubic", "newreno", "bbr3"])
@pytest.mark.parametrize(("stack", "pacing"), [("linux", "auto"), ("linux-fq", "on")])
def test_linux_is_its_keys_its_profile_and_the_pacing_of_its_queue(
    cc: str, stack: str, pacing: str
) -> None:
    keys = {f"flow.0.{key}": value for key, value in LINUX.items()}
    keys |= {"flow.0.params.profile": "linux", "flow.0.pacing": pacing}
    whole = fullpipe.run(cc, **PATH, stack=stack)
    assert numbers(whole) == numbers(fullpipe.run(cc, **PATH, set=keys, stack="rfc"))
    assert numbers(whole) != numbers(fullpipe.run(cc, **PATH, stack="rfc"))


def test_linux_is_the_usual_one() -> None:
    usual = fullpipe.run("cubic", **PATH)
    assert numbers(usual) == numbers(fullpipe.run("cubic", **PATH, stack="linux"))
    assert tomllib.loads(usual.scenario.to_toml())["stack"] == "linux"


def test_datagrams_have_no_operating_systems_tcp() -> None:
    for stack in ("rfc", "linux", "linux-fq"):
        keys = {"flow.0.transport": "datagram"}
        [flow] = fullpipe.run("cubic", **PATH, stack=stack, set=keys).flow_metrics
        [specified] = fullpipe.run("cubic", **PATH, stack="rfc", set=keys).flow_metrics
        assert flow == specified, stack


def test_a_profile_that_is_given_and_a_preset_stay_what_they_are() -> None:
    for cc, profile in (
        ("bbr3:profile=draft", "draft"),
        ("bbr3-picoquic-2024-09", "picoquic-2024-09"),
        ("bbr3", "linux"),
    ):
        complete = tomllib.loads(fullpipe.run(cc, **PATH, stack="linux").scenario.to_toml())
        assert complete["flow"][0]["params"]["profile"] == profile, cc


def test_a_runs_head_and_files_say_which_it_had(fullpipe: Fullpipe, tmp_path: Path) -> None:
    words = ("run", "cubic", "--rate", "10mbit", "--duration", "2s", "--stack", "linux-fq")
    done = fullpipe(*words, "--out", "kept")
    assert "stack linux-fq" in done.stdout
    complete = tomllib.loads((tmp_path / "kept/resolved.toml").read_text())
    assert complete["stack"] == "linux-fq"
    assert complete["flow"][0]["pacing"] == "on"


def test_parameters_behind_a_name_are_those_of_the_table() -> None:
    behind = fullpipe.run("cubic:beta=0.5:slow_start=classic", **PATH)
    table: dict[str, float | str] = {
        "flow.0.params.beta": 0.5,
        "flow.0.params.slow_start": "classic",
    }
    assert numbers(behind) == numbers(fullpipe.run("cubic", **PATH, set=table))
    [flow] = behind.flow_metrics
    assert (flow["name"], flow["cc"]) == (
        "cubic-beta-0.5-classic",
        "cubic:beta=0.5:slow_start=classic",
    )


def test_the_name_with_its_parameters_survives_saving(tmp_path: Path) -> None:
    fullpipe.run("bbr3:profile=linux", **PATH).save(tmp_path / "kept")
    again = fullpipe.run(str(tmp_path / "kept/resolved.toml"))
    assert [each["cc"] for each in again.flow_metrics] == ["bbr3:profile=linux"]


@pytest.mark.parametrize(
    ("cc", "said"),
    [
        ("bbr3:profile=nope", 'profile can\'t be "nope"'),
        ("bbr3:speed=1", 'bbr3 has no parameter "speed"'),
        (
            "newreno:beta=0.7",
            'newreno has no parameter "beta"\n  fix: did you mean "beta_ecn"? it has',
        ),
        ("cubic:beta=", "no parameter with a value"),
        ("cubic:beta=0.5:beta=0.6", "beta is given twice"),
    ],
)
def test_wrong_parameters_are_refused(cc: str, said: str) -> None:
    with pytest.raises(fullpipe.ScenarioError) as refused:
        fullpipe.run(cc, **PATH)
    assert said in str(refused.value)
    assert "fix: " in str(refused.value)


def test_two_values_of_a_parameter_are_refused_and_equal_ones_are_not() -> None:
    table = {"flow.0.params.beta": 0.6}
    with pytest.raises(fullpipe.ScenarioError, match="given here and in params"):
        fullpipe.run("cubic:beta=0.5", **PATH, set=table)
    fullpipe.run("cubic:beta=0.6", **PATH, set=table)


_PATH = ("--rate", "10mbit", "--rtt", "20ms", "--duration", "2s")
_SCORE = ("--budget", "2s", "--no-holdout", "--cache", "cells")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("compare", "bbr1", "cubic", *_PATH, "--set", "flow.0.params.profile=linux"),
            'bbr1 has no parameter "profile"\n  fix: write cubic:profile=linux for this algorithm alone',
        ),
        (
            ("compare", "cubic", "bbr3", *_PATH, "--set", "flow.0.params.profile=draft"),
            'profile can\'t be "draft"\n  fix: write bbr3:profile=draft for this algorithm alone; give one of',
        ),
        (
            ("compare", "cubic", "bbr3", *_PATH, "--set", "flow.1.params.profile=draft"),
            "no such flow\n  fix: write bbr3:profile=draft for this algorithm alone; or flow.0.params.profile",
        ),
        (
            ("sweep", "cubic", *_PATH, "--cc", "cubic,dctcp", "--set", "flow.0.params.beta=0.6"),
            'dctcp has no parameter "beta"\n  fix: write cubic:beta=0.6 for this algorithm alone; it has ',
        ),
        (
            ("sweep", "two.toml", "--cc", "cubic,dctcp", "--set", "flow.0.params.beta=0.6"),
            'dctcp has no parameter "beta"\n  fix: write cubic:beta=0.6 for this algorithm alone; it has ',
        ),
        (
            ("check", "two.toml", "--set", "flow.1.params.beta=0.6"),
            'dctcp has no parameter "beta"\n  fix: it has ',
        ),
        (
            ("score", "bbr3:profile=linux", "dctcp", "--set", "undo=false", *_SCORE),
            'dctcp has no parameter "undo"\n  fix: write bbr3:profile=linux:undo=false for this algorithm alone',
        ),
        (
            ("score", "--candidates", "sets.jsonl", "--set", "beta=0.6", *_SCORE),
            "--set beta=0.6: it reaches no candidate of sets.jsonl\n  fix: write the parameter into each line",
        ),
        (
            ("fleet", "simulate", "--paths", "5", "--set", "flow.0.params.beta=0.6", "--out", "f"),
            "the arms have the algorithm of the download, and its parameters\n  fix: write it behind an arm's name: "
            "--cc NAME:beta=0.6",
        ),
        *(
            (
                (*door, "--set", "flow.0.params.beta=0.6"),
                "name of a parameter\n  fix: write beta=0.6",
            )
            for door in (
                ("evaluate", "cubic"),
                ("attack", "search", "cubic", "--goal", "delay"),
                ("score", "cubic"),
            )
        ),
    ],
)
def test_a_parameter_that_does_not_reach_every_contender_is_refused(
    words: tuple[str, ...], said: str, fullpipe: Fullpipe, tmp_path: Path
) -> None:
    (tmp_path / "two.toml").write_text(
        'duration = "1s"\nexpect = ["flow.*.goodput > 1kbit"]\n[path]\nrate = "10mbit"\nrtt = "20ms"\n'
        'buffer = "1bdp"\n[[flow]]\ncc = "cubic"\n[[flow]]\ncc = "dctcp"\n'
    )
    (tmp_path / "sets.jsonl").write_text('{"candidate": "bbr3"}\n')
    done = fullpipe(*words)
    assert done.returncode == 2, done.stdout
    assert said in done.stderr


DOORS = {
    "run": ("run", "{}", "--duration", "1s"),
    "sweep": ("sweep", "{}", "--rate", "5mbit,10mbit", "--duration", "1s"),
    "compare": ("compare", "cubic", "{}", "--duration", "1s", "--repeat", "3"),
    "check": ("check", "base.toml", "--cc", "{}"),
    "evaluate": ("evaluate", "{}", "--criterion", "full-backoff", "--quick", "--seeds", "3"),
    "score": ("score", "{}", "--budget", "2s"),
    "attack": ("attack", "search", "{}", "--goal", "delay", "--budget", "1s", "--out", "found"),
    "fleet simulate": ("fleet", "simulate", "--paths", "5", "--cc", "cubic,{}", "--out", "kept"),
    "new": ("new", "{}"),
    "evaluate, draft": ("evaluate", "{}", "--suite", "bbr-draft"),
    "trace judge": ("trace", "judge", "judged", "--as", "{}"),
}


@pytest.mark.parametrize("door", DOORS)
def test_every_door_takes_parameters_behind_a_name(
    door: str, fullpipe: Fullpipe, tmp_path: Path
) -> None:
    (tmp_path / "base.toml").write_text(
        'duration = "1s"\nexpect = ["flow.*.goodput > 1kbit"]\n[path]\nrate = "10mbit"\n'
        'rtt = "20ms"\nbuffer = "1bdp"\n[[flow]]\nname = "a"\ncc = "cubic"\n'
    )
    if door == "trace judge":
        fullpipe(
            "run", "bbr3:profile=linux", "--duration", "2s", "--trace", "ack", "--out", "judged"
        )
    done = fullpipe(*(word.format("bbr3:profile=linux") for word in DOORS[door]))
    # A condition may be not met or not evaluated: a short run says little.
    assert done.returncode in (0, 1, 3), done.stderr
    again = {"found": "again", "kept": "again"}
    words = [again.get(word, word).format("bbr3:profile=nope") for word in DOORS[door]]
    wrong = fullpipe(*words)
    assert wrong.returncode == 2, wrong.stdout
    assert "nope" in wrong.stderr
    assert "Traceback" not in wrong.stderr


def test_the_contract_of_other_parameters_is_not_checked(fullpipe: Fullpipe) -> None:
    done = fullpipe("plugin", "check", "cubic:beta=0.5")
    assert done.returncode == 2
    assert "with the default parameters\n  fix: write cubic" in done.stderr


def test_contenders_that_differ_in_a_parameter_are_told_apart(fullpipe: Fullpipe) -> None:
    words = ("compare", "bbr3", "bbr3:profile=linux", "--duration", "3s", "--repeat", "3")
    text = fullpipe(*words, "--out", "kept").stdout
    assert text.count("bbr3:profile=linux") >= 3
    rows = json.loads(fullpipe("compare", *words[1:], "--out", "kept", "--json").stdout)
    assert {"bbr3", "bbr3:profile=linux"} <= _names(rows)


def _names(found: object) -> set[str]:
    if isinstance(found, dict):
        return {text for each in found.values() for text in _names(each)}
    if isinstance(found, list):
        return {text for each in found for text in _names(each)}
    return {found} if isinstance(found, str) else set()
