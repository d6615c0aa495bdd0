"""Repositories that come and go, and models that go from them."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import StartServer, add_echo, answer, write_identity, write_model

import triton_inprocess as ti

X = np.arange(3, dtype=np.float32)


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A second repository, with models `first` and `second`."""
    folder = tmp_path / "other"
    for name in ("first", "second"):
        write_identity(folder, name)
        # A model that gets another name must not have its own in the configuration.
        config = folder / name / "config.pbtxt"
        config.write_text(config.read_text().replace(f'name: "{name}"\n', "", 1))
    return folder


@pytest.fixture
def server(start_identity: StartServer) -> ti.Server:
    return start_identity()


def names(server: ti.Server) -> set[str]:
    return {name for name in server.models() if isinstance(name, str)}


@pytest.mark.parametrize("kind", [str, Path])
def test_a_repository_comes_and_goes(server: ti.Server, other: Path, kind: Callable[[Path], Any]) -> None:
    assert names(server) == set()
    server.register_model_repository(kind(other))
    assert names(server) == {"first", "second"}
    assert (answer(server.load("first"), "OUTPUT0", INPUT0=X) == X).all()
    with pytest.raises(ti.AlreadyExistsError):
        server.register_model_repository(other)
    server.unregister_model_repository(kind(other))
    assert names(server) == set()
    with pytest.raises(ti.InvalidArgumentError, match="not found"):
        server.unregister_model_repository(other)


def test_models_get_other_names(server: ti.Server, other: Path) -> None:
    server.register_model_repository(other, {"first": "renamed"})
    assert names(server) == {"renamed", "second"}
    assert (answer(server.load("renamed"), "OUTPUT0", INPUT0=X) == X).all()
    server.load("second")
    with pytest.raises(ti.TritonError):
        server.load("first")


@pytest.mark.parametrize(
    ("path", "error", "message"),
    [
        (3, TypeError, "path must be a str or a path of str, not int"),
        (b"/tmp", TypeError, "path must be a str or a path of str, not bytes"),
        ("", ValueError, "path must not be empty"),
        ("a\0b", ValueError, "NUL"),
    ],
)
def test_what_is_no_path(server: ti.Server, path: Any, error: type[Exception], message: str) -> None:
    for call in (server.register_model_repository, server.unregister_model_repository):
        with pytest.raises(error, match=message):
            call(path)


class BytesPath:
    def __fspath__(self) -> bytes:
        return b"/tmp"


def test_a_path_of_bytes(server: ti.Server) -> None:
    with pytest.raises(TypeError, match="not BytesPath"):
        server.register_model_repository(BytesPath())  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]


def test_what_is_no_folder(server: ti.Server, other: Path) -> None:
    for path in (other / "none", other / "first" / "config.pbtxt"):
        with pytest.raises(ti.InvalidArgumentError, match=f"path '{path}' is not a folder"):
            server.register_model_repository(path)


@pytest.mark.parametrize(
    ("mapping", "error", "message"),
    [
        (["first"], TypeError, "name_mapping must be a dict of folder to model name, not list"),
        ({1: "x"}, TypeError, "each folder of name_mapping must be a str, not int"),
        ({"first": 1}, TypeError, r"name_mapping\['first'\] must be a str, not int"),
        ({"first": ""}, ValueError, r"name_mapping\['first'\] must not be empty"),
        ({"first": "a\0"}, ValueError, "NUL"),
        ({"none": "x"}, ti.InvalidArgumentError, "name_mapping has 'none', which is no folder"),
        ({"../other/first": "x"}, ti.InvalidArgumentError, "which is no folder in"),
        ({"first/1": "x"}, ti.InvalidArgumentError, "which is no folder in"),
        ({"first": "x", "second": "x"}, ti.InvalidArgumentError, "two folders the name 'x'"),
    ],
)
def test_a_mapping_that_is_wrong(
    server: ti.Server, other: Path, mapping: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        server.register_model_repository(other, mapping)
    assert names(server) == set()


def test_modes_that_have_none_of_it(start_identity: StartServer, other: Path) -> None:
    server = start_identity(model_control_mode=ti.ModelControlMode.NONE)
    with pytest.raises(ti.UnsupportedError, match="EXPLICIT"):
        server.register_model_repository(other)
    with pytest.raises(ti.UnsupportedError, match="EXPLICIT"):
        server.unregister_model_repository(other)
    with pytest.raises(ti.UnavailableError, match="polling is disabled"):
        server.poll_model_repository()


def test_polling(start_identity: StartServer, repository: Path) -> None:
    server = start_identity(model_control_mode=ti.ModelControlMode.POLL)
    folder = write_identity(repository)
    assert not server.model("identity").ready()
    server.poll_model_repository()
    assert server.model("identity").ready()
    config = folder / "config.pbtxt"
    config.write_text(config.read_text().replace("max_batch_size: 0", "max_batch_size: 4"))
    later = time.time_ns() + 10**9
    os.utime(config, ns=(later, later))
    server.poll_model_repository()
    assert server.model("identity").config()["max_batch_size"] == 4
    folder.rename(repository.parent / "away")
    server.poll_model_repository()
    assert not server.model("identity").ready()


# -- unloading ---------------------------------------------------------------------------------------------------------


ENSEMBLE = """name: "whole"
platform: "ensemble"
input [ { name: "IN" data_type: TYPE_FP32 dims: [ -1 ] } ]
output [ { name: "OUT" data_type: TYPE_FP32 dims: [ -1 ] } ]
ensemble_scheduling { step [ { model_name: "step" model_version: -1
  input_map { key: "INPUT0" value: "IN" } output_map { key: "OUTPUT0" value: "OUT" } } ] }
"""


def write_ensemble(repository: Path, **step: Any) -> None:
    write_identity(repository, "step", **step)
    write_model(repository, "whole", ENSEMBLE)


def ready(server: ti.Server) -> set[str]:
    return {name for name, model in server.models(exclude_not_ready=True).items() if isinstance(name, str)}


@pytest.mark.parametrize("dependents", [False, True])
def test_an_ensemble_goes_with_or_without_its_models(
    start_identity: StartServer, repository: Path, dependents: bool
) -> None:
    write_ensemble(repository)
    server = start_identity(startup_models=["whole"])
    assert ready(server) == {"whole", "step"}
    server.unload("whole", unload_dependents=dependents, wait_until_unloaded=True, polling_interval=0.001)
    assert ready(server) == (set() if dependents else {"step"})


def test_dependents_in_use_are_waited_for(start_identity: StartServer, repository: Path) -> None:
    write_ensemble(repository, parameters={"delay_us": 300_000})
    server = start_identity(startup_models=["whole"])
    iterator = server.model("step").infer({"INPUT0": X})
    server.unload("whole", unload_dependents=True, wait_until_unloaded=True, polling_interval=0.001)
    states = {model.state for name, model in server.models().items() if name == "step"}
    assert states == {"UNAVAILABLE"}
    assert (next(iterator).outputs["OUTPUT0"].numpy() == X).all()


def test_a_model_that_is_not_there_is_unloaded(server: ti.Server) -> None:
    server.unload("none", wait_until_unloaded=True, timeout=5)


def test_an_unload_that_takes_too_long(server: ti.Server) -> None:
    entered, opened = threading.Event(), threading.Event()

    def wait(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        entered.set()
        opened.wait(30)
        return x

    model = server.add_model(wait, name="busy", inputs={"x": (np.float32, (-1,))}, outputs={"y": (np.float32, (-1,))})
    iterator = model.infer({"x": X})
    assert entered.wait(10)
    begin = time.monotonic()
    with pytest.raises(ti.UnavailableError, match=r"waiting for model 'busy' to be unloaded took longer than 0.05 s"):
        server.unload(model, wait_until_unloaded=True, polling_interval=30, timeout=0.05)
    assert time.monotonic() - begin < 1
    opened.set()
    assert (next(iterator).outputs["y"].numpy() == X).all()
    server.unload(model, wait_until_unloaded=True)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"model": 3}, TypeError, "model must be str, not int"),
        ({"unload_dependents": 1}, TypeError, "unload_dependents must be a bool, not int"),
        ({"wait_until_unloaded": "yes"}, TypeError, "wait_until_unloaded must be a bool, not str"),
        ({"polling_interval": "1"}, TypeError, "polling_interval must be seconds as a number, not str"),
        ({"polling_interval": None}, TypeError, "polling_interval must be seconds"),
        ({"polling_interval": -1}, ValueError, "polling_interval must be seconds, 0 or more, not -1"),
        ({"timeout": True}, TypeError, "timeout must be seconds or None as a number, not bool"),
        ({"timeout": -0.5}, ValueError, "timeout must be seconds or None, 0 or more, not -0.5"),
        ({"timeout": float("nan")}, ValueError, "timeout must be .* not nan"),
    ],
)
def test_wrong_arguments(server: ti.Server, given: dict[str, Any], error: type[Exception], message: str) -> None:
    model = add_echo(server)
    with pytest.raises(error, match=message):
        server.unload(**{"model": "echo", **given})
    assert model.ready()


def test_a_model_of_another_server(server: ti.Server, start_identity: StartServer) -> None:
    mine, other = add_echo(server), add_echo(start_identity())
    with pytest.raises(ti.InvalidArgumentError, match="'echo' is another server's"):
        server.unload(other)
    assert mine.ready()
    assert other.ready()
