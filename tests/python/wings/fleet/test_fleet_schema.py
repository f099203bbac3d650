"""The tables of a fleet directory: documented as implemented, with correct derived columns."""

import os
import re
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from fullpipe.wings.fleet import schema, store
from fullpipe.wings.fleet.derive import conform, types
from fullpipe.wings.fleet.schema import Column

PAGE = Path(__file__).parents[4] / "docs/reference/fleet-tables.md"
SHARED = {column.name for column in (*schema.FIELDS, *schema.COURSE, *schema.OF_FIELDS)} | {
    "observed_s"
}


def own(table: str) -> list[Column]:
    return [
        column
        for column in schema.TABLES[table]
        if column.name not in SHARED or table == "requests"
    ]


SECTIONS = {
    "Fields of ss": schema.FIELDS,
    "Course of a connection": schema.COURSE,
    "Derived columns": [column for column in schema.CONNECTIONS if column.derived],
} | {table: own(table) for table in schema.TABLES}


@pytest.mark.parametrize("section", SECTIONS)
def test_the_page_has_each_table(section: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    table = "| Column | Type | Meaning |\n|---|---|---|\n" + "".join(
        f"| `{column.name}` | {column.kind} | {'derived: ' * column.derived}{column.meaning} |\n"
        for column in SECTIONS[section]
    )
    pattern = rf"(?<=\n)(#+ {re.escape(section)}\n(?:(?!#)[^|\n][^\n]*\n|\n)*?)((?:\|[^\n]*\n)+)"
    found = re.search(pattern, page)
    assert found, f"docs/reference/fleet-tables.md has no section {section} with a table"
    if os.environ.get("FULLPIPE_BLESS"):
        PAGE.write_text(page.replace(found[0], found[1] + table), encoding="utf-8")
    else:
        assert found[2] == table, "FULLPIPE_BLESS=1 writes it"


@pytest.mark.parametrize("table", schema.TABLES)
def test_a_frame_without_columns_becomes_a_table_with_all(table: str) -> None:
    frame = conform(pl.DataFrame({"arm": ["a"]}), table)
    assert frame.schema == types(table)
    assert frame.height == 1


def test_a_column_of_no_table_is_refused() -> None:
    with pytest.raises(ValueError, match="the fleet table requests has no column color"):
        conform(pl.DataFrame({"arm": ["a"], "color": [1]}), "requests")


# The line of ss in the Dropbox article, with reference values computed by hand.
DROPBOX = {
    "arm": "bbr",
    "host": "tokyo-1",
    "bytes_sent": 9070462,
    "bytes_retrans": 3375,
    "bytes_acked": 9067087,
    "data_segs_out": 6315,
    "busy_s": 3.02,
    "rwnd_limited_s": 2.072,
    "retrans_total_packets": 5,
    "dsack_dups": 5,
    "bbr_bw_bps": 99.5e6,
    "bbr_mrtt_s": 0.001912,
    "delivery_rate_bps": 27.9e6,
    "minrtt_s": 0.001907,
    "unacked_packets": 3,
    "mss_bytes": 1448,
}


def test_what_follows_from_the_fields() -> None:
    row = conform(pl.DataFrame([DROPBOX]), "connections").row(0, named=True)
    assert row["loss"] == pytest.approx(3375 / 9070462)
    assert round(row["rwnd_limited"] * 100, 1) == 68.6
    assert row["bandwidth_bps"] == 99.5e6
    assert row["min_rtt_s"] == 0.001907
    assert row["spurious"] == 1.0
    assert row["inflight_bytes"] == 3 * 1448
    assert row["busy_rate_bps"] == pytest.approx(8 * 9067087 / 3.02)


def test_older_kernels_count_segments_alone() -> None:
    old = {
        "arm": "a",
        "retrans_total_packets": 24285,
        "data_segs_out": 2534536,
        "bytes_acked": 3608119590,
    }
    row = conform(pl.DataFrame([old]), "connections").row(0, named=True)
    assert row["loss"] == pytest.approx(24285 / 2534536)
    assert row["transferred_bytes"] == 3608119590
    assert row["bandwidth_bps"] is None


def test_a_share_of_nothing_is_not_known() -> None:
    none = {"arm": "a", "bytes_sent": 0, "bytes_retrans": 0, "busy_s": 0.0, "rwnd_limited_s": 0.0}
    row = conform(pl.DataFrame([none]), "connections").row(0, named=True)
    assert row["loss"] is row["rwnd_limited"] is row["busy_rate_bps"] is None


def test_rows_lie_in_a_folder_of_their_arm_and_day(tmp_path: Path) -> None:
    days = [datetime(2019, 12, day, 23, 59, tzinfo=UTC) for day in (17, 18)]
    frame = pl.DataFrame(
        {"arm": ["a", "b", "a"], "time": [days[0], days[0], days[1]], "in_segs": [1, 2, 3]}
    )
    files = store.write(tmp_path, "counters", frame, "first")
    assert sorted(file.rpartition("-")[0] for file in files) == [
        "counters/arm=a/day=2019-12-17/first",
        "counters/arm=a/day=2019-12-18/first",
        "counters/arm=b/day=2019-12-17/first",
    ]
    assert store.scan(tmp_path, "counters").sort("in_segs").collect()["in_segs"].to_list() == [
        1,
        2,
        3,
    ]
    assert store.scan(tmp_path, "requests").collect().schema == types("requests")
