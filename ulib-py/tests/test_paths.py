"""Files, folders, links and commands that the documentation names: each is there."""

import fnmatch
import os
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
NAMED = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "DESIGN.md", "ulib-py/README.md")]
PAGES = [page for page in [*NAMED, *sorted((ROOT / "docs").glob("*.md"))] if page.exists()]
# What is made, not kept.
MADE = {".git", ".venv", "target", "dist", "__pycache__"}
# Names that a reader is to put something for, what is made, and what is on other machines.
OTHERS = re.compile(r"[A-Z]+\.|.*/[A-Z]+\.|dist/|\.venv/|/|~|nvidia/|nv/target|crt/|include/cccl|ulib/kernels|cudarc,|include_str!")
# What CONTRIBUTING.md tells how to add.
ADDED = re.compile(r"(.*/)?(square|spectrum)\b.*")
SOURCE = re.compile(r".*[\w>*]\.(rs|py|md|sh|toml|cu|cuh|ptx|pyi|yml|txt|html)")
IN_FOLDER = re.compile(r".*[\w>]/([\w<*].*)?")


def files():
    found = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in MADE]
        found += ["/" + os.path.relpath(os.path.join(folder, name), ROOT) for name in (*names, *folders)]
    return found


def paths(text):
    """Words in code that look like paths; `<object>` stands for any name."""
    for code in re.findall(r"`([^`\n]+)`", text):
        for word in code.split():
            word = word.strip('",')
            if (SOURCE.fullmatch(word) or IN_FOLDER.fullmatch(word)) and not OTHERS.match(word) and not ADDED.fullmatch(word):
                yield re.sub(r"<\w+>", "*", word.removeprefix("../").rstrip("/"))


@pytest.mark.skipif(not PAGES, reason="the documentation is not here")
@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_what_a_page_names_is_there(page):
    text = page.read_text()
    there = files()
    missing = [path for path in dict.fromkeys(paths(text)) if not fnmatch.filter(there, f"*/{path}")]
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        target, _, anchor = link.partition("#")
        if target.startswith("http"):
            continue
        path = page.parent / target if target else page
        headings = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE) if anchor and path.exists() else []
        if not path.exists() or (anchor and anchor not in [re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in headings]):
            missing.append(link)
    for kind, name in re.findall(r"cargo (?:test|bench|run)[^`\n]* --(test|bench|example) (\w+)", text):
        folder = {"test": "tests", "bench": "benches", "example": "examples"}[kind]
        if not name.isupper() and not fnmatch.filter(there, f"*/{folder}/{name}.rs"):
            missing.append(f"--{kind} {name}")
    for package in re.findall(r"cargo [^`\n]*-p ([\w-]+)", text):
        if not (ROOT / package / "Cargo.toml").exists() and not (ROOT / "tests" / package.removeprefix("ulib-") / "Cargo.toml").exists():
            missing.append(f"-p {package}")
    assert missing == []


def test_what_is_not_there_is_noticed():
    names = list(paths("`a/b.rs` and `cargo run x/<op>.cu`, `word`, `N.md`, `dist/x.whl`, `tests/twins/square.rs`, `lib.rs`, `a == b / c`"))
    assert names == ["a/b.rs", "x/*.cu", "lib.rs"]
    assert fnmatch.filter(["/one/a/b.rs"], "*/a/b.rs") and not fnmatch.filter(["/one/aa/b.rs"], "*/a/b.rs")
