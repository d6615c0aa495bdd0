"""Loading a model with another configuration, and with files that lie in no repository."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import StartServer, answer, write_identity

import triton_inprocess as ti

X = np.arange(3, dtype=np.float32)


def configuration(**more: Any) -> dict[str, Any]:
    """A configuration of the identity backend, as Triton's JSON has it."""
    return {
        "backend": "identity",
        "input": [{"name": "INPUT0", "data_type": "TYPE_FP32", "dims": [-1]}],
        "output": [{"name": "OUTPUT0", "data_type": "TYPE_FP32", "dims": [-1]}],
        "instance_group": [{"kind": "KIND_CPU"}],
        **more,
    }


@pytest.fixture
def server(start_identity: StartServer, repository: Path) -> ti.Server:
    write_identity(repository)
    return start_identity(startup_models=["identity"])


def batch_size(model: ti.Model) -> int:
    return int(model.config().get("max_batch_size", 0))


@pytest.mark.parametrize("form", ["dict", "json", "parameter", "dict as parameter"])
def test_a_configuration_instead_of_the_repositorys(server: ti.Server, form: str) -> None:
    config = configuration(max_batch_size=4)
    given: dict[str, Any] = {
        "dict": {"config": config},
        "json": {"config": json.dumps(config)},
        "parameter": {"parameters": {"config": json.dumps(config)}},
        "dict as parameter": {"parameters": {"config": config}},
    }[form]
    assert batch_size(server.model("identity")) == 0
    model = server.load("identity", **given)
    assert batch_size(model) == 4
    assert (answer(model, "OUTPUT0", INPUT0=X[np.newaxis]) == X).all()
    assert batch_size(server.load("identity", config=configuration())) == 0  # as often as one likes


def test_what_config_tells_goes_back_in(server: ti.Server) -> None:
    model = server.model("identity")
    assert batch_size(server.load("identity", config={**model.config(), "max_batch_size": 2})) == 2


@pytest.mark.parametrize(
    "content", [b"abc", bytearray(b"abc"), memoryview(b"abc"), b""], ids=lambda each: str(bytes(each))
)
@pytest.mark.parametrize("form", ["files", "prefix", "parameters"])
def test_files_that_lie_in_no_repository(server: ti.Server, content: Any, form: str) -> None:
    given: dict[str, Any] = {
        "files": {"config": configuration(), "files": {"3/a/model.bin": content}},
        "prefix": {"config": configuration(), "files": {"file:3/model.bin": content}},
        "parameters": {"parameters": {"config": json.dumps(configuration()), "file:3/model.bin": content}},
    }[form]
    model = server.load("fresh", **given)
    assert (answer(model, "OUTPUT0", INPUT0=X) == X).all()
    assert model.metadata()["versions"] == ["3"]
    server.unload(model, wait_until_unloaded=True)
    assert not server.model("fresh").ready()


def test_no_files_are_none(server: ti.Server) -> None:
    server.load("identity", parameters={}, files={})
    assert batch_size(server.load("identity", config=configuration(max_batch_size=4), files={})) == 4


RULES = [
    ({"files": {"1/x": b""}}, "files need a config.*'1/x'.*'identity'"),
    ({"parameters": {"file:1/x": b""}}, "files need a config"),
    ({"config": {}, "files": {"x": b""}}, r"files has 'x'; .*'<version>/<name>'"),
    ({"config": {}, "files": {"v1/x": b""}}, "files has 'v1/x'"),
    ({"config": {}, "files": {"0/x": b""}}, "files has '0/x'"),
    ({"config": {}, "files": {"1": b""}}, "files has '1'"),
    ({"config": {}, "files": {"": b""}}, "files has ''"),
    ({"config": {}, "files": {"/1/x": b""}}, "files has '/1/x'"),
    ({"config": {}, "files": {"1/../../x": b""}}, "within the model's folder"),
    ({"config": {}, "files": {"1/x\0": b""}}, "files has "),
    ({"config": {}, "files": {"1/²/../x": b""}}, "files has "),
    ({"config": {}, "files": {"²/x": b""}}, "files has "),
    ({"config": {}, "parameters": {"file:x": b""}}, "parameters has 'file:x'"),
    ({"parameters": {"configuration": "{}"}}, "parameters has 'configuration'; Triton takes 'config'"),
    ({"parameters": {1: "{}"}}, "parameters has 1"),
    ({"config": {"name": "other"}}, "config is for a model named 'other', not for 'identity'"),
    ({"config": '{"name": 3}'}, "config is for a model named 3"),
]


@pytest.mark.parametrize(("given", "message"), RULES)
def test_what_breaks_tritons_rules(server: ti.Server, given: dict[str, Any], message: str) -> None:
    with pytest.raises(ti.InvalidArgumentError, match=message):
        server.load("identity", **given)
    assert server.model("identity").ready()


WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"config": 3}, TypeError, "config must be a dict or JSON as a str, not int"),
    ({"config": b"{}"}, TypeError, "config must be .*, not bytes"),
    ({"config": "{"}, ValueError, "config must be JSON"),
    ({"config": "[]"}, ValueError, "config must be a JSON object, not a list"),
    ({"config": "[" * 100_000}, ValueError, "config must be JSON"),
    ({"config": {"x": object()}}, TypeError, "config must hold what JSON can: .*object"),
    ({"config": {"x": float("nan")}}, ValueError, "config must hold what JSON can"),
    ({"config": '{"name": "identity"}\0'}, ValueError, "config must"),
    ({"config": {}, "files": [b""]}, TypeError, "files must be a dict or None, not list"),
    ({"config": {}, "files": {1: b""}}, TypeError, "each path of files must be a str, not int"),
    ({"config": {}, "files": {"1/x": "text"}}, TypeError, r"files\['1/x'\] must be bytes, not str"),
    ({"config": {}, "files": {"1/x": np.ones(3)}}, TypeError, r"files\['1/x'\] must be bytes, not ndarray"),
    ({"config": {}, "files": {"1/x": b"", "file:1/x": b""}}, ValueError, "files has '1/x' twice"),
    ({"config": {}, "files": {"1/x": b"", "1/./x": b""}}, ValueError, "files has '1/x' twice"),
    ({"parameters": {"config": None}}, TypeError, r"parameters\['config'\] must be a dict or JSON as a str, not None"),
    ({"parameters": {"config": "[]"}}, ValueError, r"parameters\['config'\] must be a JSON object"),
    ({"parameters": 3}, TypeError, "parameters must be a dict or None, not int"),
    ({"parameters": {"config": "{}"}, "config": {}}, TypeError, "config was given twice"),
    ({"parameters": {"file:1/x": b""}, "config": {}, "files": {"1/x": b""}}, TypeError, "'1/x' was given twice"),
    ({"progress": 3}, TypeError, "progress must be callable or None, not int"),
]


@pytest.mark.parametrize(("given", "error", "message"), WRONG)
def test_what_is_of_the_wrong_type_or_value(
    server: ti.Server, given: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        server.load("identity", **given)


def test_what_triton_does_not_take(server: ti.Server) -> None:
    with pytest.raises(ti.TritonError):
        server.load("identity", config=configuration(no_such_field=1))
    assert (answer(server.model("identity"), "OUTPUT0", INPUT0=X) == X).all()  # the old one serves on


def test_a_server_that_loads_by_itself_takes_none(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository)
    server = start_identity(model_control_mode=ti.ModelControlMode.NONE)
    with pytest.raises(ti.UnavailableError):
        server.load("identity", config=configuration())
