"""`fullpipe.run` and the run that it returns."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from matplotlib.patches import StepPatch

import fullpipe
from conftest import LONG, SCENARIO
from fullpipe.runs.view.states import stays

if TYPE_CHECKING:
    from pathlib import Path


def test_a_run_has_metrics_of_its_flows_and_links(scenario: Path) -> None:
    run = fullpipe.run(scenario)
    assert [flow["name"] for flow in run.flow_metrics] == ["cubic", "bbr1"]
    assert sum(flow["goodput_bps"] for flow in run.flow_metrics) == pytest.approx(9.3e6, rel=0.1)
    assert 0.02 < run.flow_metrics[0]["rtt_s"]["mean"] < 0.045  # type: ignore[operator]
    assert run.link_metrics[0]["utilization"] > 0.9
    assert run.seed == run.metrics["seed"] == 7
    assert run.trace_hash is None


def test_a_scenario_may_be_text() -> None:
    assert fullpipe.run(SCENARIO).metrics["duration_s"] == 2


def test_a_loaded_scenario_runs_as_often_as_one_likes() -> None:
    loaded = fullpipe.load(SCENARIO, seed=3)
    hashes = {fullpipe.run(loaded, trace="10ms").trace_hash for _ in range(2)}
    assert hashes == {fullpipe.run(SCENARIO, seed=3, trace="10ms").trace_hash}


def test_a_loaded_scenario_runs_with_other_settings_and_does_not_change() -> None:
    loaded = fullpipe.load(SCENARIO, set={"path.rate": "5mbit"}, seed=3)
    other = fullpipe.run(loaded, rtt="80ms", duration="1s").scenario
    assert (other.rate_bps, other.rtt_s, other.duration_s, other.seed) == (5_000_000, 0.08, 1, 3)
    assert (loaded.rtt_s, loaded.duration_s) == (0.02, 2)
    assert fullpipe.load(loaded) is loaded


def test_settings_replace_those_of_the_scenario() -> None:
    run = fullpipe.run(
        SCENARIO, seed=3, set={"path.rate": "5mbit", "flow.0.count": 2}, duration="1s"
    )
    assert (run.seed, run.metrics["duration_s"], len(run.flow_metrics)) == (3, 1, 3)
    assert run.scenario.rate_bps == 5_000_000
    assert run.scenario.source == SCENARIO
    assert 'rate = "5mbit"' in run.scenario.to_toml()


def test_the_same_seed_gives_the_same_trace_and_another_seed_another() -> None:
    hashes = [fullpipe.run(SCENARIO, seed=seed, trace="ack").trace_hash for seed in (1, 1, 2)]
    assert hashes[0] == hashes[1] != hashes[2]


def test_the_resolved_scenario_is_the_same_experiment() -> None:
    run = fullpipe.run(SCENARIO, set={"path.loss": "0.1%"}, trace="10ms")
    again = fullpipe.run(run.scenario.to_toml(), trace="10ms")
    assert again.trace_hash == run.trace_hash


def test_a_trace_is_a_frame_with_names_and_seconds() -> None:
    run = fullpipe.run(SCENARIO, trace="10ms")
    flows = run.trace()
    assert flows.schema["flow"] == pl.Enum(["cubic", "bbr1"])
    assert isinstance(flows.schema["limited_by"], pl.Enum)
    assert flows["time"].is_sorted()
    assert 1.9 < flows["time"].max() <= 2  # type: ignore[operator]
    assert flows.filter(pl.col("flow") == "cubic")["bbr1.state"].null_count() > 0
    assert not flows["rtt"].is_nan().any()
    assert set(run.units()) == set(flows.columns)
    assert (run.units()["time"], run.units()["cwnd"], run.units()["pacing_rate"]) == (
        "s",
        "B",
        "bit/s",
    )
    assert run.trace("links").columns[:3] == ["time", "link", "queue_packets"]
    assert {"from", "to", "reason"} <= set(run.trace("transitions").columns)


def test_columns_are_what_was_recorded() -> None:
    run = fullpipe.run(SCENARIO, trace="10ms")
    columns, frame = run.columns(), run.trace()
    assert list(columns) == frame.columns
    time, flow, rtt, limits = (columns[name] for name in ("time", "flow", "rtt", "limited_by"))
    assert isinstance(time, np.ndarray)
    assert isinstance(flow, np.ndarray)
    assert isinstance(rtt, np.ndarray)
    assert isinstance(limits, tuple)
    assert [str(column.dtype) for column in (time, flow, rtt)] == ["uint64", "uint32", "float32"]
    assert time.shape == flow.shape == rtt.shape == (len(frame),)
    np.testing.assert_array_equal(time / 1e9, frame["time"].to_numpy())
    assert [run.flow_metrics[index]["name"] for index in flow] == frame["flow"].to_list()
    np.testing.assert_array_equal(rtt, frame["rtt"].fill_null(np.nan).to_numpy())
    codes, labels = limits
    assert codes.dtype == np.uint8
    assert [labels[code] for code in codes] == frame["limited_by"].to_list()
    state = columns["bbr1.state"]
    assert isinstance(state, tuple)
    np.testing.assert_array_equal(state[0] == 255, frame["bbr1.state"].is_null().to_numpy())
    assert set(run.columns("links")) == set(run.trace("links").columns)


def test_columns_are_views_that_do_not_change_the_run() -> None:
    run = fullpipe.run(SCENARIO, trace="ack")
    first, second = run.columns(), run.columns()
    for name, column in first.items():
        again = second[name]
        codes, others = (column[0], again[0]) if isinstance(column, tuple) else (column, again)
        assert isinstance(codes, np.ndarray)
        assert isinstance(others, np.ndarray)
        assert np.shares_memory(codes, others)
        with pytest.raises(ValueError, match="read-only"):
            codes[0] = 0
    first.clear()
    assert run.columns().keys() == second.keys()


def test_columns_that_are_not_there_say_so() -> None:
    with pytest.raises(ValueError, match='run with trace="10ms"'):
        fullpipe.run(SCENARIO).columns()
    with pytest.raises(ValueError, match="there are flows, links, transitions"):
        fullpipe.run(SCENARIO, trace="100ms").columns("nonsense")


def test_a_trace_that_is_not_there_says_what_to_do() -> None:
    with pytest.raises(ValueError, match='run with trace="10ms"'):
        fullpipe.run(SCENARIO).trace()
    with pytest.raises(ValueError, match="there are flows, links, transitions"):
        fullpipe.run(SCENARIO, trace="100ms").trace("nonsense")


def test_progress_is_reported_and_may_end_a_run() -> None:
    class EnoughError(Exception):
        pass

    seen: list[tuple[float, float, int]] = []

    def progress(done_s: float, duration_s: float, events: int) -> None:
        seen.append((done_s, duration_s, events))
        if len(seen) == 3:
            raise EnoughError

    with pytest.raises(EnoughError):
        fullpipe.run(LONG, progress=progress)
    assert [done for done, _, _ in seen] == sorted(done for done, _, _ in seen)
    assert seen[-1][1] == 5000
    assert seen[-1][2] > seen[0][2] > 0


def test_an_error_has_its_parts() -> None:
    with pytest.raises(fullpipe.ScenarioError) as caught:
        fullpipe.run(SCENARIO.replace("10mbit", "0mbit"))
    error = caught.value
    assert (error.file, error.line, error.key, error.value) == ("<text>", 6, "path.rate", '"0mbit"')
    assert error.problem in str(error)
    assert error.fix in str(error)
    assert pickle.loads(pickle.dumps(error)).key == "path.rate"


@pytest.mark.parametrize("seed", [-1, 2**63, 2**200])
def test_a_seed_out_of_range_is_refused_like_a_key(seed: int) -> None:
    with pytest.raises(
        fullpipe.ScenarioError, match=r"seed.*from 0 to 9223372036854775807"
    ) as caught:
        fullpipe.run(SCENARIO, seed=seed)
    assert caught.value.key == "seed"
    assert str(seed) in caught.value.value


def test_a_trace_level_that_is_none_is_refused() -> None:
    with pytest.raises(fullpipe.ScenarioError, match='"10ms"') as caught:
        fullpipe.run(SCENARIO, trace="often")
    assert (caught.value.key, caught.value.value, caught.value.line) == ("trace", "often", None)


def test_a_run_that_can_not_fit_in_memory_is_refused() -> None:
    with pytest.raises(fullpipe.ScenarioError, match="GB of memory"):
        fullpipe.run(LONG, trace="1us")


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        fullpipe.run(tmp_path / "nothing.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(OSError, match="UTF-8"):
        fullpipe.run(tmp_path / "binary.toml")


def test_saving_keeps_everything_and_overwrites_nothing(tmp_path: Path) -> None:
    run = fullpipe.run(SCENARIO, trace="10ms")
    kept = run.save(tmp_path / "deep" / "kept")
    assert sorted(file.name for file in kept.iterdir()) == [
        "SHA256SUMS",
        "links.parquet",
        "made.json",
        "metrics.json",
        "picture.png",
        "queues.parquet",
        "resolved.toml",
        "scenario.toml",
        "trace.parquet",
        "transitions.parquet",
    ]
    assert pl.read_parquet(kept / "trace.parquet").equals(run.trace())
    with pytest.raises(FileExistsError):
        run.save(kept)
    assert list(kept.parent.iterdir()) == [kept]


@pytest.mark.parametrize("flows", [1, 12])
def test_a_picture_has_four_panels(tmp_path: Path, flows: int) -> None:
    run = fullpipe.run(SCENARIO, trace="ack", set={"flow.1.count": flows})
    figure = run.plot(tmp_path / "picture.svg")
    panels = [axes for axes in figure.axes if axes.get_title(loc="left") != "state"]
    assert [axes.get_ylabel() for axes in panels] == ["kB", "Mbit/s", "ms", "ms"]
    assert (len(figure.axes) > len(panels)) == (flows == 1), (
        "with many flows there is no band of states"
    )
    assert (tmp_path / "picture.svg").stat().st_size > 10_000


def test_a_picture_shows_the_states_of_each_flow() -> None:
    run = fullpipe.run(SCENARIO, trace="10ms", duration="20s")
    rows = stays(run, 20.0)
    assert rows["flow"].unique(maintain_order=True).to_list() == ["cubic", "bbr1"]
    for name in ("cubic", "bbr1"):
        mine = rows.filter(flow=name)
        assert mine["till"][-1] == 20.0
        assert (mine["since"][1:] == mine["till"][:-1]).all(), (
            "each stay begins at the end of the previous one"
        )
    # The state of a stay is that of all trace rows within it.
    bbr1 = (
        run.trace()
        .filter(flow="bbr1")
        .join_asof(rows.filter(flow="bbr1"), left_on="time", right_on="since")
    )
    assert (bbr1["state"] == bbr1["bbr1.state"].cast(pl.String)).all()
    (band,) = (axes for axes in run.plot().axes if axes.get_title(loc="left") == "state")
    # Labels from the bottom to the top.
    assert [label.get_text() for label in band.get_yticklabels()] == ["bbr1", "cubic"]
    legend = band.get_legend()
    assert legend is not None
    assert {text.get_text() for text in legend.get_texts()} == set(rows["state"])


def test_a_picture_shows_the_states_of_a_receiver_that_has_some() -> None:
    run = fullpipe.run("scenarios/rledbat-vs-cubic.toml", trace="10ms", duration="31s")
    rows = stays(run, 30.0)
    assert rows["flow"].unique(maintain_order=True).to_list() == ["update", "update's receiver"]
    receiver = rows.filter(flow="update's receiver")
    assert set(receiver["state"]) == {"slow_start", "congestion_avoidance", "slowdown", "ramp"}
    assert (receiver["since"][1:] == receiver["till"][:-1]).all(), (
        "each stay begins at the end of the previous one"
    )
    slowdowns = receiver.filter(state="slowdown")["since"].to_list()
    assert slowdowns[0] < 2.0
    assert len(slowdowns) == 3


def test_a_picture_of_flows_that_keep_their_state_has_no_band() -> None:
    run = fullpipe.run(
        SCENARIO.replace('"bbr1"', '"none"\napp_rate = "1mbit"'), trace="10ms", duration="0.1s"
    )
    assert run.trace("transitions").is_empty()
    assert len(run.plot().axes) == 4


def test_a_flow_that_is_not_there_has_no_rate_in_a_picture() -> None:
    transfers = '"bbr1"\n[[flow]]\ncc = "newreno"\nbytes = "20kB"\nstart = "1s"\ncount = 8'
    run = fullpipe.run(SCENARIO.replace('"bbr1"', transfers), trace="10ms", duration="6s")
    ends = [flow["completion_s"] for flow in run.flow_metrics if flow["completion_s"] is not None]
    assert len(ends) == 8
    begin, end = 1, 1.1 + max(ends)  # with the jitter of the start and half a bin
    rates = run.plot().axes[1]
    for line, is_transfer in zip(rates.lines, (False, False, True), strict=True):
        time, rate = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
        outside = (time < begin - 0.05) | (time > end)
        assert np.isnan(rate[outside]).all() == is_transfer
        assert np.isfinite(rate[(time > begin + 0.02) & (time < end - 0.15)]).all()
    (share,) = (patch for patch in rates.patches if isinstance(patch, StepPatch))
    assert {5, 1} <= set(share.get_data()[0])  # Mbit/s per flow, with 2 and with 10 active flows


def test_an_equal_share_is_not_drawn_beside_unresponsive_traffic() -> None:
    run = fullpipe.run(
        SCENARIO.replace('"bbr1"', '"none"\ncount = 8\napp_rate = "1mbit"'), trace="10ms"
    )
    rates = run.plot().axes[1]
    assert not rates.patches
    assert "dashed" not in rates.get_title(loc="left")


def test_a_flow_without_a_window_is_no_trouble(tmp_path: Path) -> None:
    run = fullpipe.run(SCENARIO.replace('"bbr1"', '"none"\napp_rate = "1mbit"'), trace="10ms")
    run.save(tmp_path / "kept")
    assert run.trace()["flow"].unique().sort().to_list() == ["cubic", "none"]
    assert run.flow_metrics[1]["rtt_s"]["mean"] is None


def test_the_package_has_what_it_names_also_what_is_loaded_when_asked_for() -> None:
    assert set(fullpipe.__all__) <= set(dir(fullpipe))
    assert all(getattr(fullpipe, name) is not None for name in fullpipe.__all__)
    with pytest.raises(AttributeError, match="no attribute 'sweeep'"):
        fullpipe.sweeep  # type: ignore[attr-defined]  # noqa: B018


def test_a_link_of_acks_alone_is_no_limit_in_the_picture() -> None:
    text = 'duration = "5s"\n[path]\nprofile = "lte"\n[[flow]]\ncc = "cubic"\n'
    run = fullpipe.run(text, trace="10ms")
    window, rate, *_, queue = run.plot().axes
    assert "BDP of the path" in window.get_title(loc="left")
    assert [text.get_text() for text in rate.texts] == ["link rate"]
    assert queue.get_legend() is None, "only one link is drawn"


def test_what_an_application_draws_depends_on_the_seed_and_the_flows_name_alone() -> None:
    text = SCENARIO.replace(
        '[[flow]]\ncc = "cubic"',
        '[[flow]]\nname = "page"\ncc = "cubic"\napp = "request pareto 9kB shape 1.5 think exp 20ms"',
    )

    def sizes(name: str, seed: int, **settings: str) -> list[int]:
        run = fullpipe.run(
            text.replace('"page"', f'"{name}"'),
            seed=seed,
            set=settings,
            trace="100ms",
            duration="30s",
        )
        return run.trace("responses").filter(flow=name)["bytes"].to_list()

    first = sizes("page", 1)
    other = sizes("page", 1, **{"flow.0.cc": "bbr3", "path.rtt": "5ms", "flow.1.count": "3"})
    both = min(len(first), len(other))
    assert both > 10 and first[:both] == other[:both]
    assert first[:both] != sizes("page", 2)[:both] and first[:both] != sizes("site", 1)[:both]


def test_what_is_no_scenario_and_no_algorithm_is_refused_with_the_forms(tmp_path: Path) -> None:
    no_scenario: list[Any] = [b"x", None, 5, "", tmp_path, str(tmp_path)]
    for each in no_scenario:
        for call in (fullpipe.load, fullpipe.run):
            with pytest.raises((TypeError, IsADirectoryError), match="fix: give a path, a text"):
                call(each)
    no_algorithm: list[Any] = [["cubic", "bbr3"], None, 7]
    for each in no_algorithm:
        with pytest.raises(TypeError, match="not an algorithm\n  fix: give a name"):
            fullpipe.compare("cubic", each)
    nothing: Any = {"x": None}
    with pytest.raises(TypeError, match="controllers: x = None: not a class\n  fix: give one"):
        fullpipe.run(SCENARIO, controllers=nothing)
    assert fullpipe.load("# long\n" * 2000 + SCENARIO).flows


@pytest.mark.parametrize(
    ("call", "name", "value"),
    [
        ("run", "controllers", [1]),
        ("run", "trace", 5),
        ("run", "on", 3),
        ("run", "seed", "7"),
        ("run", "set", ["path.rate=5mbit"]),
        ("load", "controllers", 5),
        ("sweep", "repeat", "3"),
        ("sweep", "threads", 1.5),
        ("sweep", "out", 7),
        ("compare", "repeat", True),
        ("compare", "on", None),
        ("link", "set", "path.jitter=5ms"),
    ],
)
def test_an_argument_of_another_type_is_named_with_its_fix(
    call: str, name: str, value: object
) -> None:
    of: dict[str, tuple[Any, ...]] = {"compare": ("cubic", "bbr1"), "link": ("true",)}
    with pytest.raises(TypeError) as error:
        getattr(fullpipe, call)(*of.get(call, (SCENARIO,)), **{name: value})
    told = str(error.value)
    assert told.startswith(f"{name} = {value!r}: not of its type\n  fix: give ")


def test_whole_numbers_of_numpy_are_whole_numbers() -> None:
    assert fullpipe.load(SCENARIO, seed=np.int64(3)).seed == 3  # type: ignore[arg-type]
