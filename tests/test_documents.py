"""The Python blocks of the README and of docs/ run as they stand, and print what stands below them.

They run in this process, which has the package and the runtime already: a block of the README by itself, the blocks of
a page one after the other. A block that cannot run says so above it, and why: `<!-- not executed: reason -->`.
"""

from __future__ import annotations

import contextlib
import io
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from conftest import CANCEL, PROJECT

import triton_inprocess as ti

DOCS = PROJECT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
FENCED = re.compile(r"^```(\w*)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
NOT_EXECUTED = re.compile(r"<!-- not executed: \w.* -->\n\Z")

# What the blocks of a page need, where that is not in every C API.
NEEDED = {
    "guides/functions.md": ["TRITONSERVER_InferenceRequestSetStringParameter"],
    "guides/streams.md": [CANCEL],
    "guides/tracing.md": ["TRITONSERVER_InferenceTraceRequestId"],
}
PACKAGES = {"README.md": "sklearn", "serving.md": "fastapi"}


class Example(NamedTuple):
    """A Python block, the line of the file that it begins at, and the output block after it, if there is one."""

    line: int
    code: str
    output: str | None


def examples(file: Path) -> list[Example]:
    text = file.read_text(encoding="utf-8")
    blocks = list(FENCED.finditer(text))
    found: list[Example] = []
    for block, following in zip(blocks, [*blocks[1:], None], strict=False):
        if block[1] != "python" or NOT_EXECUTED.search(text, 0, block.start()):
            continue
        belongs = (
            following is not None and following[1] in {"", "text"} and not text[block.end() : following.start()].strip()
        )
        output = following[2] if following is not None and belongs else None
        found.append(Example(text.count("\n", 0, block.start()) + 1, block[2], output))
    return found


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().splitlines()]


def page(file: Path) -> Any:
    name = str(file.relative_to(DOCS))
    marks = [pytest.mark.needs(*NEEDED[name])] if name in NEEDED else []
    return pytest.param(file, id=name, marks=marks)


@pytest.fixture
def restored_logging() -> Iterator[None]:
    """Programs say where their log goes; this one goes on."""
    loggers = [logging.getLogger(), logging.getLogger("triton_inprocess")]
    kept = [(logger, logger.level, logger.handlers.copy()) for logger in loggers]
    yield
    for logger, level, handlers in kept:
        logger.setLevel(level)
        logger.handlers[:] = handlers


def run(example: Example, names: dict[str, Any], folder: Path) -> None:
    """Run a block with the names of those before it; compare what it prints."""
    script = folder / f"line_{example.line}.py"  # a file, so that tracebacks have its lines
    script.write_text(example.code, encoding="utf-8")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(example.code, str(script), "exec"), names)
    if example.output is not None:
        assert lines(printed.getvalue()) == lines(example.output)


def stop_servers(names: dict[str, Any]) -> None:
    """Those that a block which failed has left behind."""
    for value in names.values():
        if isinstance(value, ti.Server):
            value.stop()


def test_examples_are_found() -> None:
    readme = PROJECT / "README.md"
    assert len(examples(readme)) == readme.read_text(encoding="utf-8").count("```python\n")
    pages = "".join(file.read_text(encoding="utf-8") for file in PAGES)
    found = [example for file in PAGES for example in examples(file)]
    assert len(found) == pages.count("```python\n") - pages.count("<!-- not executed: ")
    assert sum(example.output is not None for example in found) > 30


@pytest.mark.usefixtures("runtime", "restored_logging")
@pytest.mark.parametrize("example", examples(PROJECT / "README.md"), ids=lambda example: f"line {example.line}")
def test_an_example_of_the_readme_prints_what_it_says(tmp_path: Path, example: Example) -> None:
    pytest.importorskip("sklearn")
    names: dict[str, Any] = {"__name__": "__main__"}
    try:
        run(example, names, tmp_path)
    finally:
        stop_servers(names)


@pytest.mark.usefixtures("runtime", "restored_logging")
@pytest.mark.parametrize("file", [page(file) for file in PAGES if examples(file)])
def test_the_examples_of_a_page_print_what_it_says(tmp_path: Path, file: Path) -> None:
    if file.name in PACKAGES:
        pytest.importorskip(PACKAGES[file.name])
    names: dict[str, Any] = {"__name__": "__main__"}
    try:
        for example in examples(file):
            run(example, names, tmp_path)
    finally:
        stop_servers(names)


def test_the_messages_of_the_troubleshooting_page_are_real(runtime: ti.runtime.Runtime) -> None:
    headings = re.findall(r"^## `(.*)`$", (DOCS / "troubleshooting.md").read_text(encoding="utf-8"), re.MULTILINE)
    files = [*(PROJECT / "python").rglob("*.py"), *(PROJECT / "cpp").rglob("*.cpp")]
    sources = "\n".join(file.read_text(encoding="utf-8") for file in files)
    # As the compilers see them: adjacent strings are one.
    sources = re.sub(r'"\s*f?"', "", sources)
    # Triton's own messages, and those of what it brings to look at GPUs.
    libraries = [runtime.path, *runtime.path.parent.glob("libdcgm*.so*")]
    native = b"".join(each.read_bytes() for each in libraries)
    assert len(headings) > 15
    for heading in headings:
        for part in filter(None, (each.strip() for each in re.split("…", heading))):
            words = part.strip("'=()[]:; ,")
            known = words in sources or words.encode() in native
            # An older Triton words its own messages in another way.
            assert known or runtime.missing_functions, f"{heading}: {words!r} is no message"


def test_every_page_is_in_the_navigation() -> None:
    configuration = (PROJECT / "mkdocs.yml").read_text(encoding="utf-8")
    named = re.findall(r": (\S+\.md)$", configuration, re.MULTILINE)
    assert sorted(named) == [str(file.relative_to(DOCS)) for file in PAGES]


def test_every_public_name_is_in_the_reference() -> None:
    reference = "".join(file.read_text(encoding="utf-8") for file in (DOCS / "reference").glob("*.md"))
    described = set(re.findall(r"^::: triton_inprocess\.(\w+)", reference, re.MULTILINE))
    errors = set(ti.errors.__all__)
    assert set(ti.__all__) - errors - {"errors", "runtime", "capi"} <= described
    assert {"errors", "runtime", "capi"} <= described


@pytest.mark.parametrize("file", [PROJECT / "README.md", PROJECT / "CHANGELOG.md", *PAGES], ids=lambda file: file.name)
def test_links_lead_somewhere(file: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", file.read_text(encoding="utf-8")):
        assert (file.parent / target).exists(), target
