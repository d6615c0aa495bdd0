"""The HTTP endpoints: what they answer, with which status, to good requests and bad ones."""

from __future__ import annotations

import gzip
import json
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from conftest import SET_INT_PARAMETER, StartServer, add_echo, lacks, write_identity
from helpers_http import LENGTH, Answer, add_twice, ask, binary_body, floats

import triton_inprocess as ti

INFER = "/v2/models/twice/infer"


@pytest.fixture
def serving(server: ti.Server) -> Iterator[ti.Serving]:
    add_twice(server)
    with server.serve(0) as serving:
        yield serving


def one_input(**entry: Any) -> dict[str, Any]:
    return {"inputs": [{"name": "x", "shape": [2], "datatype": "FP32", "data": [1, 2], **entry}]}


def test_health(serving: ti.Serving) -> None:
    for path in ("/v2/health/live", "/v2/health/ready", "/v2/models/twice/ready", "/v2/models/twice/versions/1/ready"):
        answer = ask(serving, "GET", path)
        assert (answer.status, answer.body) == (200, b""), path
    assert ask(serving, "GET", "/v2/models/none/ready").status == 400
    assert ask(serving, "GET", "/v2/models/twice/versions/2/ready").status == 400


def test_metadata_names_what_is_there(serving: ti.Serving) -> None:
    answer = ask(serving, "GET", "/v2")
    assert answer.headers["content-type"] == "application/json"
    assert answer.json["name"] == "triton"
    extensions = answer.json["extensions"]
    assert "binary_tensor_data" in extensions
    assert not {"system_shared_memory", "cuda_shared_memory", "trace", "logging"} & set(extensions)


def test_model_metadata_config_and_statistics(serving: ti.Serving) -> None:
    metadata = ask(serving, "GET", "/v2/models/twice").json
    assert metadata["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1]}]
    assert ask(serving, "GET", "/v2/models/twice/versions/1").json == metadata
    assert ask(serving, "GET", "/v2/models/twice/config").json["name"] == "twice"
    ask(serving, "POST", INFER, floats([1.0]))
    for path in ("/v2/models/stats", "/v2/models/twice/stats", "/v2/models/twice/versions/1/stats"):
        (entry,) = ask(serving, "GET", path).json["model_stats"]
        assert (entry["name"], entry["inference_count"]) == ("twice", 1)


@pytest.mark.parametrize("what", ["", "/config", "/stats", "/versions/7"])
def test_unknown_models_are_not_found(serving: ti.Serving, what: str) -> None:
    model = "twice" if "versions" in what else "none"
    answer = ask(serving, "GET", f"/v2/models/{model}{what}")
    assert answer.status in (400, 404)
    assert model in answer.error


def test_infer_of_an_unknown_model(serving: ti.Serving) -> None:
    answer = ask(serving, "POST", "/v2/models/none/infer", floats([1.0]))
    assert answer.status == 404
    assert "none" in answer.error
    answer = ask(serving, "POST", "/v2/models/twice/versions/x/infer", floats([1.0]))
    assert (answer.status, "version" in answer.error) == (400, True)


def test_json_in_and_out(serving: ti.Serving) -> None:
    answer = ask(serving, "POST", INFER, floats([1.0, 2.5], id="first"))
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert LENGTH.lower() not in answer.headers
    assert answer.json == {
        "model_name": "twice",
        "model_version": "1",
        "id": "first",
        "outputs": [{"name": "y", "datatype": "FP32", "shape": [2], "data": [2.0, 5.0]}],
    }


def test_binary_in_and_out(serving: ti.Serving) -> None:
    data = np.arange(5, dtype=np.float32)
    header = {
        "inputs": [{"name": "x", "shape": [5], "datatype": "FP32", "parameters": {"binary_data_size": 20}}],
        "outputs": [{"name": "y", "parameters": {"binary_data": True}}],
    }
    answer = ask(serving, "POST", INFER, *binary_body(header, data.tobytes()))
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/octet-stream"
    length = int(answer.headers[LENGTH.lower()])
    (output,) = json.loads(answer.body[:length])["outputs"]
    assert output == {"name": "y", "datatype": "FP32", "shape": [5], "parameters": {"binary_data_size": 20}}
    assert answer.body[length:] == (data * 2).tobytes()


def test_binary_data_output_is_the_default_of_the_outputs(serving: ti.Serving) -> None:
    parameters = {"binary_data_output": True}
    assert LENGTH.lower() in ask(serving, "POST", INFER, floats([1.0], parameters=parameters)).headers
    outputs = [{"name": "y", "parameters": {"binary_data": False}}]
    request = floats([1.0], parameters=parameters, outputs=outputs)
    assert ask(serving, "POST", INFER, request).json["outputs"][0]["data"] == [2.0]


def test_numbers_that_json_lacks(serving: ti.Serving) -> None:
    request = floats([float("nan"), float("inf"), float("-inf")])
    assert np.array_equal(
        ask(serving, "POST", INFER, request).json["outputs"][0]["data"], [np.nan, np.inf, -np.inf], equal_nan=True
    )


def test_nested_data(server: ti.Server) -> None:
    add_echo(server, np.int64, (-1, -1))
    with server.serve(0) as serving:
        request = {"inputs": [{"name": "x", "shape": [2, 3], "datatype": "INT64", "data": [[1, 2, 3], [4, 5, 6]]}]}
        (output,) = ask(serving, "POST", "/v2/models/echo/infer", request).json["outputs"]
        assert (output["shape"], output["data"]) == ([2, 3], [1, 2, 3, 4, 5, 6])


def test_second_input_is_as_good_as_the_first(server: ti.Server) -> None:
    """Whatever lies before it: it may be read where it lies only if it is aligned."""
    pair = {"a": (np.uint8, (-1,)), "b": (np.float64, (-1,))}

    def aligned_sum(a: Any, b: Any) -> Any:
        assert b.flags.aligned
        return b + a.sum()

    server.add_model(aligned_sum, name="sum", inputs=pair, outputs={"y": (np.float64, (-1,))})
    header = {
        "inputs": [
            {"name": "a", "shape": [3], "datatype": "UINT8", "parameters": {"binary_data_size": 3}},
            {"name": "b", "shape": [2], "datatype": "FP64", "parameters": {"binary_data_size": 16}},
        ]
    }
    with server.serve(0) as serving:
        body = binary_body(header, bytes([1, 2, 3]), struct.pack("<2d", 0.5, 1.5))
        assert ask(serving, "POST", "/v2/models/sum/infer", *body).json["outputs"][0]["data"] == [6.5, 7.5]


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({}, "array 'inputs'"),
        ({"inputs": {}}, "array 'inputs'"),
        ({"inputs": [3]}, "input 0 must be an object"),
        ({"inputs": [{}]}, "'name' of input 0 must be a string"),
        ({"inputs": []}, "'x'"),
        (one_input(datatype="FLOAT"), "'datatype' of input 'x'"),
        (one_input(datatype=3), "'datatype' of input 'x'"),
        (one_input(datatype="FP16"), "FP16 data via JSON is not supported"),
        (one_input(datatype="INT32"), "takes FP32, not INT32"),
        (one_input(shape=None), "'shape' of input 'x'"),
        (one_input(shape=[-1]), "'shape' of input 'x'"),
        (one_input(shape=[True]), "'shape' of input 'x'"),
        (one_input(shape=[3]), "needs 3 elements, and its 'data' has 2"),
        (one_input(shape=[2**40, 2**40]), "elements, and its 'data' has 2"),
        (one_input(shape=[1] * 100), "'shape' of input 'x'"),
        (one_input(data="12"), "must be an array"),
        (one_input(data=["1", "2"]), "'data' of input 'x'"),
        (one_input(data=[None, 1]), "'data' of input 'x'"),
        (one_input(data=[{}, 1]), "'data' of input 'x'"),
        (one_input(data=[True, 1]), "must be a number"),
        (one_input(data=[1e300, 1]), "out of the range"),
        (one_input(data=[[1, 2], 3, 4]), "needs 2 elements, and its 'data' has 4"),
        (one_input(parameters={"binary_data_size": 8}), "one of 'data', 'binary_data_size'"),
        (one_input(parameters=3), "'parameters' of input 'x' must be an object"),
        (one_input(name="X"), "no input 'X'"),
        ({"inputs": [*one_input()["inputs"], *one_input()["inputs"]]}, "given twice"),
        ({**one_input(), "outputs": {}}, "'outputs' of the request must be an array"),
        ({**one_input(), "outputs": [{"name": "z"}]}, "'z'"),
        ({**one_input(), "outputs": [{"name": "y"}, {"name": "y"}]}, "asked for twice"),
        ({**one_input(), "outputs": [{"name": "y", "parameters": {"binary_data": 1}}]}, "must be true or false"),
        ({**one_input(), "outputs": [{"name": "y", "parameters": {"classification": -1}}]}, "'classification'"),
        ({**one_input(), "id": 3}, "'id' of the request must be a string"),
        ({**one_input(), "parameters": []}, "'parameters' of the request must be an object"),
        ({**one_input(), "parameters": {"priority": "high"}}, "'priority'"),
        ({**one_input(), "parameters": {"sequence_id": -1}}, "'sequence_id'"),
        ({**one_input(), "parameters": {"sequence_start": 1}}, "'sequence_start'"),
        ({**one_input(), "parameters": {"triton_secret": 1}}, "reserved"),
        ({**one_input(), "parameters": {"mine": []}}, "'mine'"),
        ([], "must be an object, not an array"),
    ],
)
def test_bad_json_is_refused_and_named(serving: ti.Serving, request_: Any, message: str) -> None:
    answer = ask(serving, "POST", INFER, request_)
    assert (answer.status, answer.headers["content-type"]) == (400, "application/json")
    assert message in answer.error


@pytest.mark.parametrize(
    "body", [b"", b"{", b"\xff\xfe{}", b"nul", b'{"inputs": [1' + b"0" * 5000 + b"]}", b"[" * 100_000]
)
def test_what_is_no_json_is_refused(serving: ti.Serving, body: bytes) -> None:
    answer = ask(serving, "POST", INFER, body)
    assert answer.status == 400
    assert answer.error


def binary_request(size: Any, shape: list[int] | None = None) -> dict[str, Any]:
    entry = {"name": "x", "shape": shape or [2], "datatype": "FP32", "parameters": {"binary_data_size": size}}
    return {"inputs": [entry]}


@pytest.mark.parametrize(
    ("size", "data", "message"),
    [
        (8, b"1234567", "has 8 bytes of binary data, and 7 are left"),
        (8, b"123456789", "the inputs have 8 bytes of binary data, and 9 follow"),
        (4, b"1234", "needs 8 bytes, not 4"),
        (-8, b"12345678", "'binary_data_size'"),
        ("8", b"12345678", "'binary_data_size'"),
        (2**70, b"12345678", "'binary_data_size'"),
    ],
)
def test_binary_data_that_do_not_fit_are_refused(serving: ti.Serving, size: Any, data: bytes, message: str) -> None:
    answer = ask(serving, "POST", INFER, *binary_body(binary_request(size), data))
    assert answer.status == 400
    assert message in answer.error


@pytest.mark.parametrize("length", ["-1", "x", "1e3", "999", "9" * 30, "٣"])
def test_wrong_lengths_of_the_header_are_refused(serving: ti.Serving, length: str) -> None:
    headers = {LENGTH: length.encode().decode("latin-1")}
    answer = ask(serving, "POST", INFER, json.dumps(floats([1.0])).encode(), headers)
    assert answer.status == 400
    assert LENGTH in answer.error


def test_raw_binary_request(serving: ti.Serving) -> None:
    data = np.arange(3, dtype=np.float32)
    answer = ask(serving, "POST", INFER, data.tobytes(), {LENGTH: "0"})
    assert answer.status == 200
    assert answer.body[int(answer.headers[LENGTH.lower()]) :] == (data * 2).tobytes()
    assert ask(serving, "POST", INFER, b"12345", {LENGTH: "0"}).status == 400


def test_raw_binary_request_of_bytes(server: ti.Server) -> None:
    add_echo(server, bytes, (1,))
    with server.serve(0) as serving:
        answer = ask(serving, "POST", "/v2/models/echo/infer", b"any \xff bytes", {LENGTH: "0"})
        assert answer.body[int(answer.headers[LENGTH.lower()]) :] == b"\x0b\0\0\0any \xff bytes"


def test_bytes(server: ti.Server) -> None:
    add_echo(server, bytes)
    with server.serve(0) as serving:

        def infer(body: Any, headers: dict[str, str] | None = None) -> Answer:
            return ask(serving, "POST", "/v2/models/echo/infer", body, headers)

        request = {"inputs": [{"name": "x", "shape": [3], "datatype": "BYTES", "data": ["ä", "", "b"]}]}
        (output,) = infer(request).json["outputs"]
        assert (output["datatype"], output["data"]) == ("BYTES", ["ä", "", "b"])
        header = {"inputs": [{"name": "x", "shape": [1], "datatype": "BYTES", "parameters": {"binary_data_size": 5}}]}
        answer = infer(*binary_body(header, b"\x01\0\0\0\xff"))
        assert (answer.status, "not UTF-8" in answer.error) == (400, True)
        header["parameters"] = {"binary_data_output": True}  # type: ignore[assignment]
        assert infer(*binary_body(header, b"\x01\0\0\0\xff")).body.endswith(b"\x01\0\0\0\xff")
        for data in (b"\x02\0\0\0\xff", b"\xff\xff\xff\xff\xff", b"\0\0\0\0\0"):
            answer = infer(*binary_body(header, data))
            assert (answer.status, "'x'" in answer.error) == (400, True), data
        request["inputs"][0]["data"] = ["a", 3, "b"]
        assert infer(request).status == 400


def test_empty_tensors(serving: ti.Serving, server: ti.Server) -> None:
    add_echo(server, bytes, name="bytes")
    assert ask(serving, "POST", INFER, floats([])).json["outputs"][0]["data"] == []
    answer = ask(serving, "POST", INFER, *binary_body(binary_request(0, [0])))
    assert answer.json["outputs"][0] == {"name": "y", "datatype": "FP32", "shape": [0], "data": []}
    header = {"inputs": [{"name": "x", "shape": [0], "datatype": "BYTES", "parameters": {"binary_data_size": 0}}]}
    assert ask(serving, "POST", "/v2/models/bytes/infer", *binary_body(header)).json["outputs"][0]["data"] == []


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint8])
def test_classification(server: ti.Server, dtype: Any) -> None:
    add_echo(server, dtype, (-1,), max_batch_size=4)
    request = {
        "inputs": [{"name": "x", "shape": [2, 3], "datatype": ti.Tensor.from_any(np.zeros(1, dtype)).data_type.name,
                    "data": [1, 3, 3, 9, 7, 8]}],
        "outputs": [{"name": "y", "parameters": {"classification": 2}}],
    }  # fmt: skip
    with server.serve(0) as serving:
        (output,) = ask(serving, "POST", "/v2/models/echo/infer", request).json["outputs"]
    assert (output["datatype"], output["shape"]) == ("BYTES", [2, 2])
    found = [(float(each.split(":")[0]), int(each.split(":")[1])) for each in output["data"]]
    assert found == [(3, 1), (3, 2), (9, 0), (8, 2)]


def test_a_model_s_error_is_answered(server: ti.Server) -> None:
    def fail(x: Any) -> Any:
        raise ValueError("broken")

    server.add_model(fail, name="fail", inputs={"x": (np.float32, (-1,))}, outputs={"y": (np.float32, (-1,))})
    with server.serve(0) as serving:
        answer = ask(serving, "POST", "/v2/models/fail/infer", floats([1.0]))
        assert (answer.status, answer.error) == (500, "ValueError: broken")


def test_parameters_of_requests(serving: ti.Serving) -> None:
    request = floats([1.0], parameters={"priority": 1, "timeout": 10_000_000, "mine": "text", "other": 3})
    answer = ask(serving, "POST", INFER, request)
    if lacks(SET_INT_PARAMETER):
        assert (answer.status, "first C API that has it" in answer.error) == (501, True)
    else:
        assert answer.status == 200


def test_sequences(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository, max_batch_size=1, more="sequence_batching { }")
    with start_identity().serve(0) as serving:

        def send(**parameters: Any) -> Answer:
            request = {
                "inputs": [{"name": "INPUT0", "shape": [1, 1], "datatype": "FP32", "data": [3]}],
                "parameters": parameters,
            }
            return ask(serving, "POST", "/v2/models/identity/infer", request)

        assert send(sequence_id=7).status == 400  # it was not started
        assert send(sequence_id=7, sequence_start=True).status == 200
        assert send(sequence_id=7, sequence_end=True).status == 200


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_compressed_both_ways(serving: ti.Serving, coding: str) -> None:
    compress = {"gzip": gzip.compress, "deflate": zlib.compress}[coding]
    decompress = {"gzip": gzip.decompress, "deflate": zlib.decompress}[coding]
    data = np.arange(1000, dtype=np.float32)
    body, headers = binary_body({**binary_request(4000, [1000])}, data.tobytes())
    headers |= {"content-encoding": coding, "accept-encoding": f"br, {coding};q=0.5"}
    answer = ask(serving, "POST", INFER, compress(body), headers)
    assert (answer.status, answer.headers["content-encoding"]) == (200, coding)
    assert json.loads(decompress(answer.body))["outputs"][0]["data"] == (data * 2).tolist()
    for wrong in (compress(body)[:-5], compress(body) + b"more", b"no such data"):
        answer = ask(serving, "POST", INFER, wrong, headers)
        assert (answer.status, coding in answer.error) == (400, True)


def test_codings_that_are_not_understood(serving: ti.Serving) -> None:
    answer = ask(serving, "POST", INFER, b"x", {"content-encoding": "br"})
    assert (answer.status, "'br'" in answer.error) == (415, True)
    answer = ask(serving, "POST", INFER, floats(range(1000)), {"accept-encoding": "br, gzip;q=0, *"})
    assert "content-encoding" not in answer.headers


def test_chunked_bodies(serving: ti.Serving) -> None:
    body = json.dumps(floats([1.0])).encode()
    answer = ask(serving, "POST", INFER, iter([body[:10], body[10:]]))
    assert answer.json["outputs"][0]["data"] == [2.0]


def test_paths_and_methods_that_there_are_not(serving: ti.Serving) -> None:
    assert ask(serving, "GET", "/").error == "Not Found"
    assert ask(serving, "GET", "/v2/nothing").status == 404
    assert ask(serving, "GET", INFER).status == 405
    assert ask(serving, "POST", "/v2/nothing", b"x" * 1000).status == 404


def test_index(serving: ti.Serving, server: ti.Server) -> None:
    expected = [{"name": "twice", "version": "1", "state": "READY"}]
    assert ask(serving, "POST", "/v2/repository/index").json == expected
    assert ask(serving, "POST", "/v2/repository/index", {"ready": True}).json == expected
    assert ask(serving, "POST", "/v2/repository/index", {"ready": 1}).status == 400
    assert ask(serving, "POST", "/v2/repository/mine/index").status == 501


def test_metrics(serving: ti.Serving) -> None:
    answer = ask(serving, "GET", "/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    assert b"nv_inference_request_success" in answer.body


def test_trace_settings_are_not_there(serving: ti.Serving) -> None:
    assert ask(serving, "GET", "/v2/trace/setting").status == 501
    assert ask(serving, "POST", "/v2/models/twice/trace/setting", {}).status == 501


# The generate extension


def add_words(server: ti.Server) -> None:
    def words(text_input: Any, repeat: Any) -> dict[str, Any]:
        return {"text_output": np.array([text_input[0] * int(repeat[0])], dtype=object), "count": repeat}

    server.add_model(
        words,
        name="words",
        inputs={"text_input": (bytes, (1,)), "repeat": (np.int32, (1,))},
        outputs={"text_output": (bytes, (1,)), "count": (np.int32, (1,))},
    )


def test_generate(server: ti.Server) -> None:
    add_words(server)
    with server.serve(0) as serving:
        path = "/v2/models/words/generate"
        expected = {"model_name": "words", "model_version": "1", "text_output": "hahaha", "count": 3}
        assert ask(serving, "POST", path, {"text_input": "ha", "repeat": 3}).json == expected
        nested = {"id": "a", "text_input": "ha", "parameters": {"repeat": [3]}}
        assert ask(serving, "POST", path, nested).json == {**expected, "id": "a"}
        answer = ask(serving, "POST", path + "_stream", nested)
        assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        (event, rest) = answer.body.split(b"\n\n")
        assert rest == b""
        assert json.loads(event.removeprefix(b"data: ")) == {**expected, "id": "a"}


@pytest.mark.parametrize(
    "request_",
    [
        {"text_input": "a"},
        {"text_input": 3, "repeat": 1},
        {"text_input": "a", "repeat": "b"},
        {"text_input": "a", "repeat": 1.5},
        {"text_input": "a", "repeat": None},
        {"text_input": "a", "repeat": 2**40},
        {"text_input": "a", "repeat": 1, "parameters": {"repeat": 1}},
        {"text_input": "a", "repeat": 1, "parameters": 3},
        {"text_input": "a", "repeat": 1, "more": {}},
        {"text_input": ["a", "b"], "repeat": 1},
    ],
)
@pytest.mark.parametrize("action", ["generate", "generate_stream"])
def test_bad_generate_requests(server: ti.Server, request_: Any, action: str) -> None:
    add_words(server)
    with server.serve(0) as serving:
        answer = ask(serving, "POST", f"/v2/models/words/{action}", request_)
        assert (answer.status, answer.headers["content-type"]) == (400, "application/json")
        assert answer.error


def test_streams_of_several_responses(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository, decoupled=True, parameters={"responses": 3})
    with start_identity().serve(0) as serving:
        answer = ask(serving, "POST", "/v2/models/identity/generate_stream", {"INPUT0": [1.5, 2.5]})
        events = [json.loads(each.removeprefix(b"data: ")) for each in answer.body.split(b"\n\n") if each]
        assert [event["OUTPUT0"] for event in events] == [[1.5, 2.5]] * 3
        answer = ask(serving, "POST", "/v2/models/identity/generate", {"INPUT0": [1.5]})
        assert (answer.status, "generate_stream" in answer.error) == (501, True)
