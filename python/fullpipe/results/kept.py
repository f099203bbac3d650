"""The one door through which kept files are read.

Each function compares a file with its checksum first, and reads it by its own name only. A damaged file, and one that
does not have the expected form, is a :class:`~fullpipe.errors.DamagedError` with the file and the fix.
`tests/python/robust/test_kept.py` fails if another module reads a kept file itself.
"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from fullpipe._core import ScenarioError, __version__
from fullpipe.base.bounded import Weight
from fullpipe.base.metrics import UNTOLD, Metrics
from fullpipe.errors import DamagedError, OtherVersionError, UserError
from fullpipe.results import form, sums

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import polars as pl

    Names = str | os.PathLike[str]

T = TypeVar("T")
_ANEW = "make it again, or restore it from a copy"


def read_text(file: Path) -> str:
    """Reads a text.

    Raises:
        DamagedError: When it is damaged.
        OSError: When it can't be read.
    """
    sums.check(file)
    return _text(file)


def read_json(file: Path, of: type[T]) -> T:
    """Reads a JSON file that does not change.

    Args:
        file: The file.
        of: The type of its contents, with TypedDicts for objects.

    Raises:
        DamagedError: When it is damaged, or its contents have another type.
        OSError: When it can't be read.
    """
    value = _json(file, read_text(file))
    _refuse(file, form.mismatch(value, of))
    found: T = value
    return found


def read_measured(file: Path) -> Metrics:
    """Reads the metrics of measurements of other programs, in which those of `UNTOLD` can be None.

    Raises:
        DamagedError: When it is damaged, or its contents have another type.
        OSError: When it can't be read.
    """

    def told(of: object) -> object:
        if not isinstance(of, dict):
            return of
        return {key: 0 if each is None and key in UNTOLD else each for key, each in of.items()}

    value = read_json(file, dict[str, Any])
    flows = value.get("flows")
    filled = {"flows": [told(each) for each in flows]} if isinstance(flows, list) else {}
    _refuse(file, form.mismatch(told({**value, **filled}), Metrics))
    return cast("Metrics", value)


def read_sealed(file: Path, of: type[T], version: int) -> T:
    """Reads a JSON file that :func:`fullpipe.results.sums.write_json` wrote.

    Args:
        file: The file.
        of: The type of its contents, a TypedDict.
        version: The number that its entry `format` must have.

    Raises:
        DamagedError: When it is damaged, of another version, or its contents have another type.
        OSError: When it can't be read.
    """
    value = _json(file, _text(file))
    if not isinstance(value, dict):
        raise _damaged(file, "not a JSON object")
    was = value.get("format")
    if isinstance(was, int) and was != version and "checksum" not in value:
        raise _other_version(file, value.get("version"))
    value = sums.without_checksum(file, value)
    if value["format"] != version:
        raise _other_version(file, value.get("version"))
    _refuse(file, form.mismatch(value, of))
    found: T = value  # type: ignore[assignment]
    return found


def read_lines(file: Path) -> tuple[list[str], bool]:
    """Reads the lines of a text that may be damaged; also returns whether the last one has no end.

    Raises:
        OSError: When it can't be read.
    """
    if not file.exists():
        return [], False
    text = file.read_bytes().decode("utf-8", "replace")
    return text.split("\n"), not text.endswith("\n") and bool(text)


def read_parquet(path: Names, columns: Iterable[str] = ()) -> pl.DataFrame:
    """Reads one Parquet file, with any characters in its path.

    Args:
        path: The file.
        columns: Columns that it must have.

    Raises:
        DamagedError: When it is damaged, or lacks a column.
        OSError: When it can't be read.
    """
    import polars as pl

    file = Path(path)
    sums.check(file)
    with _of_polars(file):
        frame = pl.read_parquet(plain_path(file), glob=False, hive_partitioning=False)
    missing = [name for name in columns if name not in frame.columns]
    _refuse(file, f"no column {', '.join(missing)}" if missing else None)
    return frame


def scan_parquet(paths: Names | Sequence[Names]) -> pl.LazyFrame:
    """Returns the rows of one Parquet file, or of several with the same columns, without reading them yet.

    Files without a checksum are read once here, with little memory, so that collecting the rows meets no damage.

    Raises:
        DamagedError: When one is damaged.
        OSError: When one can't be read.
    """
    import polars as pl

    several = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    files = [Path(path) for path in several]
    for file in files:
        if not sums.check(file):
            with _of_polars(file):
                rows = pl.scan_parquet(plain_path(file), glob=False, hive_partitioning=False)
                rows.select(pl.all().null_count()).collect(engine="streaming")
    return pl.scan_parquet(
        [plain_path(file) for file in files], glob=False, hive_partitioning=False
    )


def parquet_about(path: Names, key: str) -> dict[str, Any]:
    """Returns the JSON object that a Parquet file has in its metadata; empty without one.

    Raises:
        DamagedError: When it is damaged.
        OSError: When it can't be read.
    """
    import polars as pl

    file = Path(path)
    sums.check(file)
    with _of_polars(file):
        text = pl.read_parquet_metadata(plain_path(file)).get(key, "{}")
    value = _json(file, text)
    _refuse(file, form.mismatch(value, dict[str, Any]))
    return dict(value)


def shards(folder: Path) -> list[Path]:
    """Returns the Parquet files in a folder, in the order of their names, without those that are being written."""
    return sorted(
        file
        for file in (folder.iterdir() if folder.is_dir() else ())
        if file.suffix == ".parquet" and not file.name.startswith(".")
    )


def plain_path(path: Names) -> str:
    """Returns the absolute path, since polars would take a relative one that begins with `~` or `s3:` for another."""
    return os.path.abspath(path)  # noqa: PTH100  (resolve() would follow links)


@contextmanager
def computing(directory: Path) -> Iterator[None]:
    """Computes with the contents of a directory: if they are not of this version's form, the error names it.

    Raises:
        DamagedError: When the block fails because of a value.
    """
    import polars as pl

    try:
        yield
    except (ScenarioError, UserError):
        raise
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
    ) as error:
        problem = f"a file in it does not have the format of fullpipe {__version__} ({error!r})"
        raise _damaged(directory, problem) from error


@contextmanager
def _of_polars(file: Path) -> Iterator[None]:
    import polars as pl

    try:
        yield
    except FileNotFoundError:
        raise
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise _damaged(file, f"not a Parquet file ({str(error).splitlines()[0]})") from error


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise _damaged(file, f"no text in UTF-8: {error.reason} at byte {error.start}") from error


def _json(file: Path, text: str) -> Any:  # noqa: ANN401  (any JSON)
    try:
        Weight().add(text.encode())
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _damaged(file, f"no JSON ({error})") from error


def _refuse(file: Path, problem: str | None) -> None:
    if problem:
        raise _damaged(file, f"{problem}; it may be of another version than fullpipe {__version__}")


def _other_version(file: Path, version: object) -> OtherVersionError:
    made_by = f"fullpipe {version}" if isinstance(version, str) else "another version of fullpipe"
    return OtherVersionError(
        f"{file}: made by {made_by}, whose format fullpipe {__version__} does not read\n  fix: {_ANEW}"
    )


def _damaged(place: Path, problem: str) -> DamagedError:
    return DamagedError(f"{place}: {problem}\n  fix: {_ANEW}")
