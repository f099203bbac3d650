"""`fullpipe doctor`."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from fullpipe.errors import fail


def command(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object, and nothing else.")
    ] = False,
    report: Annotated[
        bool,
        typer.Option(
            "--report",
            help="Print a block to paste into a bug report; it names no user, host or home.",
        ),
    ] = False,
) -> None:
    """Say what this machine can run a scenario on, and how to mend what it can't. Changes nothing.

    For example: fullpipe doctor
    """
    from fullpipe import doctor

    if as_json and report:
        fail("--json and --report are two forms of one answer\n  fix: leave one of them out")
    if as_json:
        typer.echo(doctor.records())
        return
    if report:
        lines = [f"{what}: {found}" for what, found in _facts()]
        typer.echo(_anonymous("\n".join(["```text", *lines, "```"])))
        return
    from rich.console import Console

    doctor.show(Console(highlight=False))


def _facts() -> Iterator[tuple[str, str]]:
    """What whoever reads a bug report asks first."""
    import platform

    from fullpipe import doctor

    yield "fullpipe", _build()
    yield "platform", platform.platform()
    if platform.system() == "Linux":
        yield "kernel", platform.version()
    yield "python", f"{platform.python_implementation()} {platform.python_version()}"
    yield "libraries", _libraries()
    for title, findings in (("runner", doctor.runners()), ("machine", doctor.machine())):
        for each in findings:
            yield (
                f"{title} {each.what}",
                f"{'not ok' if each.state == 'missing' else each.state}, {each.found}",
            )
    yield from _extras()


def _build() -> str:
    from importlib.metadata import PackageNotFoundError, distribution

    from fullpipe import _core
    from fullpipe.batch.spec import build

    # What a core says that was compiled with checks of its arithmetic, as cargo's dev profile does.
    checked = b"attempt to add with overflow" in Path(_core.__file__).read_bytes()
    words = [_core.__version__, f"build {build()}", "debug" if checked else "release"]
    try:
        installed = distribution("fullpipe")
    except PackageNotFoundError:
        return ", ".join([*words, "not installed"])
    wheel = dict(re.findall(r"^(Generator|Tag): (.*)$", installed.read_text("WHEEL") or "", re.M))
    place = '"editable":true' in (installed.read_text("direct_url.json") or "").replace(" ", "")
    words += [*wheel.values(), "installed in place" if place else "installed as a wheel"]
    return ", ".join(words)


def _libraries() -> str:
    """The versions of all that the package asks for, extras among them."""
    from importlib.metadata import PackageNotFoundError, requires, version

    try:
        asked = requires("fullpipe") or []
    except PackageNotFoundError:
        asked = []
    found = []
    for name in (re.split(r"[^\w.-]", each, maxsplit=1)[0] for each in asked):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} not installed")
    return ", ".join(found)


def _extras() -> Iterator[tuple[str, str]]:
    """What `make setup-all`, `make browser` and `make oracle` add, and libraries do not say."""
    from importlib.util import find_spec
    from shutil import which

    from fullpipe.runners import uml

    yield "extra Ray", "found" if find_spec("ray") else "not installed"
    yield "extra DuckDB", "found" if find_spec("duckdb") else "not installed"
    browser = next(filter(which, ("chromium", "chromium-browser", "google-chrome")), None)
    yield "extra Chromium", f"found, {browser}" if browser else "not installed"
    missing = uml.RUNNER.missing()
    yield "extra UML kernel", missing.problem if missing else uml.facts()["kernel"]


def _anonymous(text: str) -> str:
    """Without the names of home directories, users and the host."""
    import getpass
    import platform
    from contextlib import suppress

    with suppress(RuntimeError):  # there is none
        if (home := Path.home()) != Path(home.anchor):
            text = text.replace(str(home), "~")
    text = re.sub(r"/(?:home|Users)/[^/\s]+", "~", text)
    names = {"host": platform.node(), "user": ""}
    with suppress(OSError, KeyError, ImportError):  # a user without an entry
        names["user"] = getpass.getuser()
    for what, name in names.items():
        if name and name != "root":  # who is everybody's
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", f"[{what}]", text)
    return text
