"""The labels of a classifier's classes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import StartServer, write_model
from helpers_labels import LABELS, write_classifier
from helpers_one_response import both

import triton_inprocess as ti

X = np.array([0, 2, 1], np.float32)


def ask_for(model: ti.Model, values: Any = X) -> ti.InferenceResponse:
    return model.infer({"INPUT0": values}).result()


@both
def test_a_response_has_the_labels_and_the_best_one(start_identity: StartServer, repository: Path, ask: Any) -> None:
    write_classifier(repository)
    model = start_identity().model("classifier")
    for best in 1, 0, 2:
        response = ask(model, inputs={"INPUT0": np.eye(3, dtype=np.float32)[best]})
        assert response.labels == {"OUTPUT0": tuple(LABELS)}
        assert response.classification_label == LABELS[best]


def test_a_model_without_labels_has_none(server: ti.Server) -> None:
    specs: dict[str, Any] = {"inputs": {"x": (np.float32, (-1,))}, "outputs": {"y": (np.float32, (-1,))}}
    response = server.add_model(lambda x: x, name="m", **specs).infer({"x": X}).result()
    assert response.labels == {}
    assert response.classification_label is None


def test_an_ensemble_has_the_labels_of_its_steps(start_identity: StartServer, repository: Path) -> None:
    write_classifier(repository)
    write_model(
        repository,
        "ensemble",
        """
        name: "ensemble" platform: "ensemble"
        input [ { name: "IN" data_type: TYPE_FP32 dims: [ 3 ] } ]
        output [ { name: "OUT" data_type: TYPE_FP32 dims: [ 3 ] } ]
        ensemble_scheduling { step [ {
            model_name: "classifier" model_version: -1
            input_map { key: "INPUT0" value: "IN" } output_map { key: "OUTPUT0" value: "OUT" }
        } ] }
        """,
    )
    response = start_identity().model("ensemble").infer({"IN": X}).result()
    assert response.labels == {"OUT": tuple(LABELS)}
    assert response.classification_label == "dog"


def test_they_are_those_of_capi(start_identity: StartServer, repository: Path) -> None:
    import concurrent.futures

    write_classifier(repository)
    server = start_identity()
    request = ti.capi.TRITONSERVER_InferenceRequest(server.capi, "classifier", -1)
    request.add_input("INPUT0", ti.DataType.FP32, X.shape)
    request.append_input_data("INPUT0", X.ctypes.data, X.nbytes, ti.MemoryType.CPU, 0)
    done: concurrent.futures.Future[Any] = concurrent.futures.Future()
    request.set_response_callback(None, None, lambda response, *_: done.set_result(response), None)
    server.capi.infer_async(request)
    response = done.result(20)
    found = [response.output_classification_label(0, index) for index in range(4)]
    assert found == [*ask_for(server.model("classifier")).labels["OUTPUT0"], ""]


@pytest.mark.parametrize("batch", [1, 2])
def test_a_batch_of_one_has_a_best_one(start_identity: StartServer, repository: Path, batch: int) -> None:
    write_classifier(repository, max_batch_size=4)
    response = ask_for(start_identity().model("classifier"), np.tile(X, (batch, 1)))
    assert response.labels == {"OUTPUT0": tuple(LABELS)}
    if batch == 1:
        assert response.classification_label == "dog"
    else:
        with pytest.raises(ti.UnsupportedError, match=r"'OUTPUT0' is FP32 of shape \[2, 3\], of which no one class"):
            _ = response.classification_label


@pytest.mark.parametrize("data_type", ["INT64", "BF16", "FP16", "BYTES"])
def test_the_best_one_of_other_types(start_identity: StartServer, repository: Path, data_type: str) -> None:
    write_classifier(repository, data_type="STRING" if data_type == "BYTES" else data_type)
    model = start_identity().model("classifier")
    values = ["a", "b", "c"] if data_type == "BYTES" else [1, 2, 3]
    response = ask_for(model, ti.Tensor.from_any(values, data_type))
    assert response.labels == {"OUTPUT0": tuple(LABELS)}
    if data_type == "BYTES":
        with pytest.raises(ti.UnsupportedError, match=r"'OUTPUT0' is BYTES"):
            _ = response.classification_label
    else:
        assert response.classification_label == "bird"


def test_there_may_be_fewer_and_more_labels_than_elements(start_identity: StartServer, repository: Path) -> None:
    many = [f"class {number}" for number in range(2000)]
    write_classifier(repository, many, "many", dims=(-1,))
    write_classifier(repository, LABELS[:2], "few", dims=(-1,))
    server = start_identity()
    for values in [1], range(100):
        response = ask_for(server.model("many"), np.array(values, np.float32))
        assert response.labels == {"OUTPUT0": tuple(many)}
        assert response.classification_label == many[len(values) - 1]
    assert ask_for(server.model("few"), X[::-1].copy()).classification_label == "dog"
    assert ask_for(server.model("few"), np.arange(3, dtype=np.float32)).classification_label == ""


def test_of_an_error_there_are_none(start_identity: StartServer, repository: Path) -> None:
    write_classifier(repository, parameters={"fail_after": 0})
    (response,) = start_identity().model("classifier").infer({"INPUT0": X}, raise_on_error=False)
    assert response.error is not None
    assert (response.labels, response.classification_label) == ({}, None)


def test_a_stream_has_them_in_each_response(start_identity: StartServer, repository: Path) -> None:
    write_classifier(repository, decoupled=True, parameters={"responses": 3})
    model = start_identity().model("classifier")
    *responses, last = model.infer({"INPUT0": X})
    assert [each.classification_label for each in responses] == ["dog"] * 3
    assert last.classification_label is None

    async def use() -> list[str | None]:
        return [each.classification_label async for each in model.async_infer({"INPUT0": X})]

    assert asyncio.run(use()) == ["dog"] * 3 + [None]


def test_a_reload_brings_new_ones(start_identity: StartServer, repository: Path) -> None:
    write_classifier(repository)
    server = start_identity()
    model = server.model("classifier")
    assert ask_for(model).classification_label == "dog"
    (repository / "classifier" / "classes.txt").write_text("Katze\nHund\nVogel\n")
    server.unload("classifier", wait_until_unloaded=True, polling_interval=0.001, timeout=20)
    server.load("classifier")
    assert ask_for(model).classification_label == "Hund"


def test_labels_may_be_any_text(start_identity: StartServer, repository: Path) -> None:
    labels = ["é 猫", "", "two words"]
    write_classifier(repository, labels)
    response = ask_for(start_identity().model("classifier"), np.array([0, 1, 0], np.float32))
    assert response.labels == {"OUTPUT0": tuple(labels)}
    assert response.classification_label == ""
