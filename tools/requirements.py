"""Prints the requirements that pyproject.toml names, one a line: `requirements.py build dev lint`.

`build` is what the build needs; any other name is an extra, which brings the run-time dependencies along.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any


def load_project() -> dict[str, Any]:
    """The parsed pyproject.toml."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        from pip._vendor import tomli as tomllib
    path = Path(__file__).resolve().parent.parent / "pyproject.toml"
    loaded: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    return loaded


def requirements(project: dict[str, Any], name: str) -> list[str]:
    """The requirements of `name`, those of the project's own extras that it names resolved."""
    if name == "build":
        return list(project["build-system"]["requires"])
    result = list(project["project"]["dependencies"])
    for requirement in project["project"]["optional-dependencies"][name]:
        own = re.fullmatch(r"triton-inprocess\[(\w+)\]", requirement)
        result += requirements(project, own[1]) if own else [requirement]
    return result


def main() -> None:
    """Print what the command line asks for."""
    project = load_project()
    names = sys.argv[1:]
    print("\n".join(dict.fromkeys(each for name in names for each in requirements(project, name))))


if __name__ == "__main__":
    main()
