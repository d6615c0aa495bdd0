"""The command line: ``python -m triton_inprocess``, which is also installed as ``triton-inprocess``."""

from __future__ import annotations

import sys

__all__ = ["main"]

_EXTRA = {"typer", "rich"}


def main() -> None:
    """Runs the command that `sys.argv` names and exits with its status."""
    try:
        from .cli.app import app
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _EXTRA:
            raise
        sys.exit(f"the command line needs {missing}: python -m pip install 'triton-inprocess[cli]'")
    app()


if __name__ == "__main__":
    main()
