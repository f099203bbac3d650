"""`fullpipe doctor`."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from fullpipe import wings
from fullpipe.base import terminal
from fullpipe.commands.declare import Option
from fullpipe.commands.options import AS_JSON
from fullpipe.errors import fail


def command(
    as_json: Annotated[bool, Option("--json", help=AS_JSON)] = False,
    report: Annotated[
        bool,
        Option(
            "--report",
            help="Print a block to paste into a bug report, without names of users, hosts and home directories.",
        ),
    ] = False,
) -> None:
    """Show which runners work here, with fixes for the rest.

    Lists the runners for --on (the simulator, this kernel's TCP, real QUIC, user-mode Linux), the
    properties of this machine that real stacks depend on, and what `fullpipe kernel` needs of its
    kernel. For each problem it prints a fix. It changes nothing.

    Examples:
        fullpipe doctor
        fullpipe doctor --report
    """
    from fullpipe.about import doctor

    if as_json and report:
        fail("--json and --report exclude each other\n  fix: omit one of them")
    if as_json:
        print(doctor.records())
        return
    if report:
        lines = [f"{what}: {found}" for what, found in _facts()]
        print(_anonymous("\n".join(["```text", *lines, "```"])))
        return

    doctor.show(terminal.console())


def _facts() -> Iterator[tuple[str, str]]:
    """Yields the facts that the reader of a bug report needs first."""
    import platform

    from fullpipe.about import doctor

    yield "fullpipe", _build()
    yield "platform", platform.platform()
    if platform.system() == "Linux":
        yield "kernel", platform.version()
    yield "python", f"{platform.python_implementation()} {platform.python_version()}"
    yield "libraries", _libraries()
    for title, findings in (
        ("runner", doctor.runners()),
        ("machine", doctor.machine()),
        *((name, found) for name, _, found in wings.findings()),
    ):
        for each in findings:
            yield (
                f"{title} {each.what}",
                f"{'not ok' if each.state == 'missing' else each.state}, {each.found}",
            )
    yield from _extras()


def _build() -> str:
    from importlib.metadata import PackageNotFoundError, distribution

    from fullpipe import _core
    from fullpipe.base.build import in_words

    # This message is in a core that was compiled with overflow checks, as cargo's dev profile has.
    checked = b"attempt to add with overflow" in Path(_core.__file__).read_bytes()
    words = [in_words().removeprefix("fullpipe "), "debug" if checked else "release"]
    try:
        installed = distribution("fullpipe")
    except PackageNotFoundError:
        return ", ".join([*words, "not installed"])
    wheel = dict(re.findall(r"^(Generator|Tag): (.*)$", installed.read_text("WHEEL") or "", re.M))
    place = '"editable":true' in (installed.read_text("direct_url.json") or "").replace(" ", "")
    words += [*wheel.values(), "installed in place" if place else "installed as a wheel"]
    return ", ".join(words)


def _libraries() -> str:
    """Returns the versions of all required packages, including those of extras."""
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
    """Yields the tools that `make setup-all`, `make browser` and `make oracle` install."""
    from importlib.util import find_spec
    from shutil import which

    yield "extra Ray", "found" if find_spec("ray") else "not installed"
    yield "extra obstore", "found" if find_spec("obstore") else "not installed"
    yield "extra DuckDB", "found" if find_spec("duckdb") else "not installed"
    browser = next(filter(which, ("chromium", "chromium-browser", "google-chrome")), None)
    yield "extra Chromium", f"found, {browser}" if browser else "not installed"
    yield from wings.facts()


def _anonymous(text: str) -> str:
    """Removes the names of home directories, users and the host."""
    import getpass
    import platform
    from contextlib import suppress

    with suppress(RuntimeError):  # there is no home directory
        if (home := Path.home()) != Path(home.anchor):
            text = text.replace(str(home), "~")
    text = re.sub(r"/(?:home|Users)/[^/\s]+", "~", text)
    names = {"host": platform.node(), "user": ""}
    with suppress(OSError, KeyError, ImportError):  # a user without an entry
        names["user"] = getpass.getuser()
    for what, name in names.items():
        if name and name != "root":  # the same on every machine
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", f"[{what}]", text)
    return text
