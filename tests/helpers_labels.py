"""A model whose classes have labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from conftest import identity_config, write_model

__all__ = ["LABELS", "write_classifier"]

LABELS = ["cat", "dog", "bird"]


def write_classifier(
    repository: Path, labels: list[str] | None = None, name: str = "classifier", **config: Any
) -> None:
    """A model whose output OUTPUT0, a copy of its input, has labels."""
    text = identity_config(name, **{"dims": (3,), **config})
    head, tail = text.split("output [", 1)
    tail = tail.replace("] }", '] label_filename: "classes.txt" }', 1)
    folder = write_model(repository, name, f"{head}output [{tail}")
    (folder / "classes.txt").write_text("\n".join(LABELS if labels is None else labels) + "\n", encoding="utf-8")
