"""What a command shows of its steps and of models that are being loaded."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from conftest import StartServer, write_identity

import triton_inprocess as ti

pytest.importorskip("rich")

from rich.console import Console

from triton_inprocess.cli.steps import Steps


def console(terminal: bool) -> tuple[Console, io.StringIO]:
    file = io.StringIO()
    return Console(file=file, force_terminal=terminal, width=100, highlight=False), file


def test_steps_without_a_terminal_are_told_as_they_begin() -> None:
    shown, file = console(terminal=False)
    with Steps(shown) as steps:
        with steps.step("first"):
            assert file.getvalue() == "first\n"
        steps.model("m[red]", 3, "LOADING", "")
        steps.model("m[red]", 3, "UNAVAILABLE", "because [1]")
        steps.model("new", -1, "READY", "")
    assert file.getvalue().splitlines() == [
        "first",
        "model m[red], version 3: loading",
        "model m[red], version 3: unavailable (because [1])",
        "model new: ready",
    ]


def test_steps_on_a_terminal_are_lines_that_change() -> None:
    shown, file = console(terminal=True)
    with Steps(shown) as steps, steps.step("starting"):
        steps.model("big[0]", 1, "LOADING", "")
        steps.model("big[0]", 1, "READY", "")
    last = file.getvalue().rpartition("starting")[2]
    assert "big[0], version 1: ready" in last
    assert "0:00:00" in last
    assert "loading" not in last


def test_a_step_that_fails_raises() -> None:
    shown, _ = console(terminal=True)
    with pytest.raises(KeyError), Steps(shown) as steps, steps.step("failing"):
        raise KeyError("mine")


def test_a_servers_models(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository)
    server = start_identity(model_control_mode=ti.ModelControlMode.EXPLICIT)
    shown, file = console(terminal=False)
    with Steps(shown) as steps:
        server.load("identity", progress=steps.model)
    assert file.getvalue().splitlines()[-1] == "model identity, version 1: ready"
