"""tools/prose.py finds its patterns in every kind of source, and nothing in code."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
sys.path.append(str(ROOT / "tools"))

import prose  # noqa: E402

SOURCES = {
    "a.rs": '/// {}\nfn f() { let what = "{}"; }\n// one two\n',
    "a.py": '"""{}"""\nx = 1  # {}\n',
    "a.toml": '# {}\nkey = "{}"\n',
    "a.md": "# A title\n\n{}\n\n| a | b |\n|---|---|\n| {} | c |\n",
    "Makefile": "all: ## {}\n\ttrue\n# {}\n",
    "a.js": '// {}\nconst text = "{}";\n',
}
BAD = "a sentence that shall be found"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of one's own, with no exceptions."""
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    monkeypatch.setattr(prose, "ROOT", tmp_path)
    monkeypatch.setattr(prose, "EXCEPTIONS", tmp_path / "exceptions.txt")
    (tmp_path / "exceptions.txt").write_text("", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("name", SOURCES)
def test_a_pattern_is_found_in_comments_and_strings(
    name: str, tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tree / name).write_text(SOURCES[name].replace("{}", BAD), encoding="utf-8")
    assert prose.lint([]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 2, printed
    assert printed[0].startswith(f"{name}:")
    assert "“shall”" in printed[0]


@pytest.mark.parametrize("name", SOURCES)
def test_plain_words_pass(name: str, tree: Path) -> None:
    (tree / name).write_text(
        SOURCES[name].replace("{}", "The sender retransmits a segment"), encoding="utf-8"
    )
    assert prose.lint([]) == 0


def test_code_is_not_prose(tree: Path) -> None:
    (tree / "a.md").write_text(
        "```sh\nwhat is this shall\n```\n\nThe call `what is it` returns one value.\n",
        encoding="utf-8",
    )
    (tree / "a.rs").write_text("//! ```\n//! let shall = what is it;\n//! ```\n", encoding="utf-8")
    assert prose.lint([]) == 0


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("What a flow sends is data.", True),
        ("What does a flow send?", False),
        ("Of the flows two are short.", True),
        ("The rate of the flows is the same.", False),
        ("How-to guides answer one question.", False),
        ("This is held against Linux.", True),
        ("It is told\n    by the sender.", True),
    ],
)
def test_patterns(text: str, found: bool, tree: Path) -> None:
    (tree / "a.md").write_text(text + "\n", encoding="utf-8")
    assert prose.lint([]) == int(found)


def test_an_exception_excuses_its_text_and_must_be_used(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tree / "a.md").write_text(f"Here is {BAD}.\n", encoding="utf-8")
    (tree / "exceptions.txt").write_text(r"a\.md: shall be found", encoding="utf-8")
    assert prose.lint([]) == 0
    (tree / "a.md").write_text("Nothing here is bad.\n", encoding="utf-8")
    assert prose.lint([]) == 1
    assert "excuses no text" in capsys.readouterr().out


def test_a_draw_depends_on_its_seed_alone(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in SOURCES.items():
        (tree / name).write_text(
            text.replace("{}", "The sender retransmits a segment"), encoding="utf-8"
        )
    draws = []
    for seed in (1, 1, 2):
        prose.draw(seed, 8)
        draws.append(capsys.readouterr().out)
    assert draws[0] == draws[1] != draws[2]
