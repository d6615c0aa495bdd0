"""Runs every formatter, linter and type checker; `--fix` lets the formatters write."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIXERS = 3
PYTHON_FOLDERS = ["python", "tests", "benchmarks", "tools", "examples"]


def cpp_files() -> list[str]:
    """Every C++ file of the project, without the table, whose form is its own."""
    files = [*ROOT.glob("cpp/**/*.cpp"), *ROOT.glob("cpp/**/*.h"), *ROOT.glob("benchmarks/**/*.cpp")]
    files += [*ROOT.glob("benchmarks/**/*.h"), *ROOT.glob("tests/**/*.cpp"), *ROOT.glob("tests/**/*.h")]
    return sorted(str(file.relative_to(ROOT)) for file in files)


def tool(name: str) -> str:
    """The tool of this environment."""
    return str(Path(sys.executable).parent / name)


def commands(fix: bool) -> list[list[str]]:
    """What is run: first the `FIXERS` that may write, then those that only look, the slowest last."""
    mypy = [sys.executable, "-m", "mypy"]
    return [
        [tool("clang-format"), *(["-i"] if fix else ["--dry-run", "-Werror"]), *cpp_files()],
        [tool("ruff"), "check", *(["--fix"] if fix else []), *PYTHON_FOLDERS],
        [tool("ruff"), "format", *([] if fix else ["--check"]), *PYTHON_FOLDERS],
        [*mypy, "-p", "triton_inprocess"],
        [*mypy, "stubs/triton_inprocess/_native.pyi"],
        [*mypy, *(str(file) for file in sorted((ROOT / "tools").glob("*.py")))],
        [*mypy, "-p", "benchmarks"],
        *workflow_linters(),
        # How users see the types: the wrong calls must be errors, and stay those that the files say.
        [
            *mypy,
            *(str(file) for folder in ("examples", "tests/typing") for file in sorted((ROOT / folder).glob("*.py"))),
        ],
        [tool("pyright"), "--pythonpath", sys.executable, "--project", "tests/typing"],
        ["env", "NO_MKDOCS_2_WARNING=1", tool("mkdocs"), "build", "--strict", "--quiet"],
        [tool("pyright"), "--pythonpath", sys.executable],
        [tool("pyright"), "--pythonpath", sys.executable, "--ignoreexternal", "--verifytypes", "triton_inprocess"],
        *clang_tidy(),
    ]


def workflow_linters() -> list[list[str]]:
    """What CI runs elsewhere: its form, and whether a stranger could use it. No network is asked."""
    github = ROOT / ".github"
    if not github.exists():  # a source distribution
        return []
    schema = [tool("check-jsonschema"), "--builtin-schema"]
    files = {
        "vendor.github-workflows": github.glob("workflows/*.yml"),
        "vendor.github-issue-forms": (path for path in github.glob("ISSUE_TEMPLATE/*.yml") if path.stem != "config"),
        "vendor.dependabot": github.glob("dependabot.yml"),
    }
    checks = [[*schema, name, *(str(path) for path in sorted(paths))] for name, paths in files.items()]
    return [*checks, [tool("zizmor"), "--offline", "--quiet", str(github)]]


def clang_tidy() -> list[list[str]]:
    """The C++ linter; the build folder tells how each file is compiled."""
    databases = sorted(ROOT.glob("build/*/compile_commands.json"), key=lambda path: path.stat().st_mtime)
    if not databases:
        raise SystemExit("no compile_commands.json under build/: run 'make lint'")
    files = [file for file in cpp_files() if file.endswith(".cpp") and file.startswith("cpp/")]
    halves = [files[::2], files[1::2]]
    return [[tool("clang-tidy"), "--quiet", "-p", str(databases[-1].parent), *half] for half in halves]


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Runs one of them, with this environment's tools before others."""
    if shutil.which(command[0]) is None:
        raise SystemExit(f"{command[0]} is missing: run 'make lint'")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    output, errors = subprocess.PIPE, subprocess.STDOUT
    return subprocess.run(command, cwd=ROOT, env=environment, check=False, text=True, stdout=output, stderr=errors)


def main() -> int:
    """Runs everything, however early something fails: the slow ones first, one on each core."""
    todo = commands("--fix" in sys.argv)
    fixers, others = todo[:FIXERS], todo[FIXERS:]
    failed = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for result in chain(map(run, fixers), pool.map(run, reversed(others))):
            shown = " ".join(result.args[:4])
            print(f"-- {shown} ...\n{result.stdout}", end="", flush=True)
            if result.returncode != 0:
                failed.append(shown)
    for shown in failed:
        print(f"FAILED: {shown}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
