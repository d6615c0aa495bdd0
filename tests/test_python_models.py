"""Triton Python models of a repository, in this process."""

from __future__ import annotations

import ctypes
import gc
import json
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import SET_INT_PARAMETER, StartServer, answer, lacks, needs_cancel
from helpers_functions import array
from helpers_python_models import XY, config_text, write_python_model

import triton_inprocess as ti
from triton_inprocess import _native, _python_model_runner

DECOUPLED = XY + "model_transaction_policy { decoupled: true }\n"

ECHO = """
def execute(self, requests):
    return [y(x_of(each)) for each in requests]
"""

STATEFUL = """
made = []

def initialize(self, args):
    self.args = args
    self.made.append(args["model_instance_name"])

def execute(self, requests):
    told = {**self.args, "made": len(self.made), "module": __name__}
    return [pb_utils.InferenceResponse([pb_utils.Tensor("y", np.array([json.dumps(told)], np.object_))])
            for each in requests]
"""

# What a request is to be answered with, chosen by its first number.
ANSWERS = """
def execute(self, requests):
    mode = int(x_of(requests[0])[0])
    if mode == 0:
        raise ValueError("boom")
    if mode == 1:
        return [y([1])] * (len(requests) + 1)
    if mode == 2:
        return [None]
    if mode == 3:
        return ["text"]
    if mode == 4:
        return None
    if mode == 5:
        error = pb_utils.TritonError("not today", pb_utils.TritonError.UNAVAILABLE)
        return [pb_utils.InferenceResponse(error=error)]
    if mode == 6:
        raise pb_utils.TritonModelException("on purpose")
    if mode == 7:
        return [pb_utils.InferenceResponse([])]
    return [y(x_of(requests[0]))]
"""

TELLING = """
def execute(self, requests):
    (request,) = requests
    told = {
        "id": request.request_id(),
        "correlation": request.correlation_id(),
        "flags": request.flags(),
        "timeout": request.timeout(),
        "parameters": json.loads(request.parameters()),
        "requested": request.requested_output_names(),
        "cancelled": request.is_cancelled(),
        "dtype": request.inputs()[0].triton_dtype().name,
        "shape": request.inputs()[0].shape(),
        "cpu": request.inputs()[0].is_cpu(),
        "context": request.trace().get_context(),
        "directory": pb_utils.get_model_dir(),
    }
    text = np.array([json.dumps(told)], np.object_)
    parameters = {"count": 1, "name": "n", "flag": True}
    return [pb_utils.InferenceResponse([pb_utils.Tensor("y", text)], parameters=parameters)]
"""

# Sends as many responses as the request says, from a thread of its own, after `execute` has returned.
LATER = """
def execute(self, requests):
    for request in requests:
        threading.Thread(target=self.send, args=(request.get_response_sender(), int(x_of(request)[0]))).start()

def send(self, sender, count):
    for step in range(count):
        sender.send(y([step]))
    sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
    try:
        sender.send(y([0]))
    except pb_utils.TritonModelException as error:
        pb_utils.Logger.log_error(str(error))
"""

# Two requests in one batch at most.
SENDERS = """
def execute(self, requests):
    request = requests[0]
    sender = request.get_response_sender()
    mode = int(x_of(request)[0])
    final = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL
    if mode == 0:
        sender.send(y([7]), final)
        return [None]
    if mode == 1:
        sender.send(y([7]))  # one that is not the last
    if mode == 2:
        return [y([7])]  # besides the sender
    return None
"""

BLS = """
def execute(self, requests):
    return [self.answer(each) for each in requests]

def answer(self, request):
    x = pb_utils.get_input_tensor_by_name(request, "x")
    mode = int(x.as_numpy()[0])
    if mode == 0:
        asked = pb_utils.InferenceRequest(model_name="echo", inputs=[x], requested_output_names=["y"]).exec()
        return pb_utils.InferenceResponse(asked.output_tensors())
    if mode == 1:
        asked = pb_utils.InferenceRequest(model_name="nobody", inputs=[x]).exec()
        return pb_utils.InferenceResponse(error=asked.error())
    if mode == 2:
        asked = pb_utils.InferenceRequest(model_name="later", inputs=[pb_utils.Tensor("x", np.array([3], np.float32))])
        responses = asked.exec(decoupled=True)
        return y([each.output_tensors()[0].as_numpy()[0] for each in responses if each.output_tensors()])
    if mode == 3:
        pb_utils.InferenceRequest(model_name="later", inputs=[x]).exec()
    if mode == 4:
        asked = pb_utils.InferenceRequest(model_name="bls", inputs=[x]).exec()
        return pb_utils.InferenceResponse(error=asked.error())
    if mode == 5:
        asked = pb_utils.InferenceRequest(model_name="answers", inputs=[pb_utils.Tensor("x", np.zeros(1, np.float32))])
        return pb_utils.InferenceResponse(error=asked.exec().error())
    ready = [pb_utils.is_model_ready(name) for name in ("echo", "nobody")]
    pb_utils.unload_model("spare")
    pb_utils.load_model("spare")
    return y([*ready, pb_utils.is_model_ready("spare", "1"), pb_utils.is_stub()])
"""

ASYNC_BLS = """
def execute(self, requests):
    import asyncio
    return asyncio.run(self.answer_all(requests))

async def answer_all(self, requests):
    import asyncio
    asked = [pb_utils.InferenceRequest(model_name="echo", inputs=each.inputs()) for each in requests for _ in range(2)]
    first, second = await asyncio.gather(*(each.async_exec() for each in asked))
    later = pb_utils.InferenceRequest(model_name="later", inputs=requests[0].inputs())
    count = 0
    async for each in await later.async_exec(decoupled=True):
        count += len(each.output_tensors())
    values = [each.output_tensors()[0].as_numpy()[0] for each in (first, second)]
    return [y([*values, count])]
"""

KEEPING = """
kept = []

def execute(self, requests):
    self.kept.extend(requests)
    return [y(x_of(each)) for each in requests]
"""

TEXT = XY.replace('name: "y" data_type: TYPE_FP32', 'name: "y" data_type: TYPE_STRING')


@pytest.fixture(scope="module")
def models(runtime: ti.runtime.Runtime, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ti.Server]:
    """A server with one model of each kind."""
    repository = tmp_path_factory.mktemp("python_models")
    write_python_model(repository, "echo", ECHO)
    write_python_model(repository, "spare", ECHO, config_text("inprocess"))
    write_python_model(repository, "told", STATEFUL, config_text(more=TEXT, instances=2))
    write_python_model(repository, "told_too", STATEFUL, config_text(more=TEXT), versions=[3])
    write_python_model(repository, "answers", ANSWERS)
    write_python_model(repository, "telling", TELLING, config_text(more=TEXT))
    write_python_model(repository, "later", LATER, config_text(more=DECOUPLED))
    write_python_model(repository, "senders", SENDERS)
    write_python_model(repository, "bls", BLS)
    write_python_model(repository, "async_bls", ASYNC_BLS)
    with ti.Server(model_repository=repository, python_models="in-process") as server:
        yield server


def told(model: ti.Model, **fields: Any) -> dict[str, Any]:
    response = model.infer(inputs={"x": array(1)}, **fields).result()
    value = json.loads(response.outputs["y"].to_string_array()[0])
    assert isinstance(value, dict)
    return value


def test_a_model_answers(models: ti.Server) -> None:
    assert answer(models.model("echo"), x=array(1, 2)).tolist() == [1, 2]
    assert answer(models.model("spare"), x=array(3)).tolist() == [3]


def test_models_named_alike_are_modules_of_their_own(models: ti.Server) -> None:
    first, second = told(models.model("told")), told(models.model("told_too"))
    assert (first["made"], second["made"]) == (2, 1)
    assert first["module"] != second["module"]
    assert "triton_python_backend_utils" not in sys.modules


def test_initialize_is_told_what_tritons_backend_tells(models: ti.Server) -> None:
    args = told(models.model("told_too"))
    assert args["model_name"] == "told_too"
    assert args["model_version"] == "3"
    assert args["model_instance_kind"] == "CPU"
    assert args["model_instance_device_id"] == "0"
    assert args["model_instance_name"].startswith("told_too")
    assert Path(args["model_repository"]).name == "told_too"
    config = json.loads(args["model_config"])
    assert [each["name"] for each in config["output"]] == ["y"]


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        (0, "ValueError: boom"),
        (1, r"returned 2 response\(s\), expected one for each of 1 request"),
        (2, "returned None for a request"),
        (3, "a list with str, expected InferenceResponse"),
        (4, "returned NoneType, expected a list"),
        (6, "on purpose"),
    ],
)
def test_what_execute_gets_wrong_fails_the_request(models: ti.Server, mode: int, message: str) -> None:
    with pytest.raises(ti.InternalError, match=message):
        answer(models.model("answers"), x=array(mode))
    assert answer(models.model("answers"), x=array(9)).tolist() == [9]


def test_a_traceback_comes_along(models: ti.Server) -> None:
    with pytest.raises(ti.InternalError) as caught:
        answer(models.model("answers"), x=array(0))
    assert isinstance(caught.value.__cause__, ti.FunctionTraceback)
    assert "model.py" in caught.value.__cause__.text


def test_an_error_of_a_response_keeps_its_code(models: ti.Server) -> None:
    with pytest.raises(ti.UnavailableError, match="not today"):
        answer(models.model("answers"), x=array(5))


def test_outputs_may_be_left_out(models: ti.Server) -> None:
    assert models.model("answers").infer(inputs={"x": array(7)}).result().outputs == {}


def test_a_request_tells_what_it_came_with(models: ti.Server) -> None:
    parameters = {} if lacks(SET_INT_PARAMETER) else {"n": 1, "t": "text", "b": True}
    fields = {"request_id": "r", "correlation_id": 5, "timeout": 10_000_000, "flags": 1, "parameters": parameters}
    response = models.model("telling").infer(inputs={"x": array(1, 2)}, **fields).result()
    said = json.loads(response.outputs["y"].to_string_array()[0])
    assert Path(said.pop("directory")).name == "telling"
    assert said.pop("timeout") in (0, 10_000_000)  # C API 1.17 does not tell
    assert said == {
        "id": "r",
        "correlation": 5,
        "flags": 1,
        "parameters": parameters,
        "requested": ["y"],
        "cancelled": False,
        "dtype": "FP32",
        "shape": [2],
        "cpu": True,
        "context": None,
    }
    assert response.parameters == {"count": 1, "name": "n", "flag": True}


def test_a_decoupled_model_answers_later_from_a_thread(models: ti.Server) -> None:
    model = models.model("later")
    for count in (3, 0):
        responses = list(model.infer(inputs={"x": array(count)}))
        assert [each.outputs["y"].numpy().item() for each in responses if each.outputs] == list(range(count))


def test_a_sender_answers_for_a_model_of_one_response(models: ti.Server) -> None:
    assert answer(models.model("senders"), x=array(0)).tolist() == [7]


@pytest.mark.parametrize(
    ("mode", "message"),
    [(1, "sends one response"), (2, "return None for it"), (3, "let go of a request without its last response")],
)
def test_a_sender_that_is_used_wrongly_fails_the_request(models: ti.Server, mode: int, message: str) -> None:
    with pytest.raises(ti.InternalError, match=message):
        answer(models.model("senders"), x=array(mode))


def test_a_model_asks_another(models: ti.Server) -> None:
    assert answer(models.model("bls"), x=array(0, 5)).tolist() == [0, 5]


def test_a_model_asks_a_decoupled_one(models: ti.Server) -> None:
    assert answer(models.model("bls"), x=array(2)).tolist() == [0, 1, 2]
    with pytest.raises(ti.InternalError, match="'later' is decoupled: use decoupled=True"):
        answer(models.model("bls"), x=array(3))


@pytest.mark.parametrize(
    ("mode", "error", "message"),
    [
        (1, ti.NotFoundError, "nobody"),
        (4, ti.UnavailableError, "waits for an answer of its own model"),
        (5, ti.InternalError, "boom"),
    ],
)
def test_what_goes_wrong_with_another_model_is_a_response(
    models: ti.Server, mode: int, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        answer(models.model("bls"), x=array(mode))


def test_a_model_loads_and_unloads(models: ti.Server) -> None:
    assert answer(models.model("bls"), x=array(6)).tolist() == [1, 0, 1, 0]


def test_a_model_awaits_others(models: ti.Server) -> None:
    assert answer(models.model("async_bls"), x=array(2)).tolist() == [2, 2, 2]


def test_inputs_are_the_callers_memory_and_read_only(start_server: StartServer, repository: Path) -> None:
    body = """
    def execute(self, requests):
        values = x_of(requests[0])
        return [y([values.ctypes.data % 2**24, values.flags.writeable])]
    """
    write_python_model(repository, "shared", body)
    copies = XY + 'parameters { key: "COPY_INPUTS" value { string_value: "true" } }\n'
    write_python_model(repository, "copied", body, config_text(more=copies))
    server = start_server(model_repository=repository, python_models="in-process")
    sent = array(1, 2)
    address = sent.ctypes.data % 2**24
    assert answer(server.model("shared"), x=sent).tolist() == [address, 0]
    got = answer(server.model("copied"), x=sent).tolist()
    assert got[0] != address
    assert got[1] == 1


def test_a_batch_is_a_list_of_requests(start_server: StartServer, repository: Path) -> None:
    body = """
    def execute(self, requests):
        return [y(np.full_like(x_of(each), len(requests))) for each in requests]
    """
    batching = (
        XY.replace("-1", "1") + "dynamic_batching { preferred_batch_size: [ 3 ] max_queue_delay_microseconds: 5000000 }"
    )
    write_python_model(repository, "batched", body, config_text(more=batching, max_batch_size=3))
    model = start_server(model_repository=repository, python_models="in-process").model("batched")
    sent = [model.infer(inputs={"x": np.zeros((rows, 1), np.float32)}) for rows in (1, 2)]
    assert [each.result().outputs["y"].numpy().tolist() for each in sent] == [[[2]], [[2], [2]]]
    (statistics,) = model.statistics()["model_stats"]
    assert (statistics["inference_count"], statistics["execution_count"]) == ("3", "1") or (
        statistics["inference_count"],
        statistics["execution_count"],
    ) == (3, 1)


def test_a_model_completes_its_configuration(start_server: StartServer, repository: Path) -> None:
    body = """
    @staticmethod
    def auto_complete_config(config):
        config.add_input({"name": "x", "data_type": "TYPE_FP32", "dims": [-1]})
        config.add_output({"name": "y", "data_type": "TYPE_FP32", "dims": [-1]})
        config.set_max_batch_size(4)
        config.set_dynamic_batching()
        return config

    def initialize(self, args):
        self.size = json.loads(args["model_config"])["max_batch_size"]

    def execute(self, requests):
        return [y(x_of(each) * self.size) for each in requests]
    """
    write_python_model(repository, "complete", body, 'backend: "python"')
    model = start_server(model_repository=repository, python_models="in-process").model("complete")
    config = model.config()
    assert config["max_batch_size"] == 4
    assert "dynamic_batching" in config
    assert answer(model, x=np.ones((2, 3), np.float32)).tolist() == [[4] * 3] * 2


def test_a_model_may_come_without_a_configuration(start_server: StartServer, repository: Path) -> None:
    body = """
    @staticmethod
    def auto_complete_config(config):
        config.add_input({"name": "x", "data_type": "TYPE_FP32", "dims": [-1]})
        config.add_output({"name": "y", "data_type": "TYPE_FP32", "dims": [-1]})
        return config

    def execute(self, requests):
        return [y(x_of(each)) for each in requests]
    """
    (write_python_model(repository, "bare", body) / "config.pbtxt").unlink()
    server = start_server(model_repository=repository, python_models="in-process")
    assert answer(server.model("bare"), x=array(1)).tolist() == [1]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("def initialize(self, args):\n    raise ValueError('no weights')\n" + ECHO, "ValueError: no weights"),
        ("value = 1", "has no method execute"),
        (
            ECHO + "\n@staticmethod\ndef auto_complete_config(config):\n    return None\n",
            "auto_complete_config returned",
        ),
    ],
)
def test_what_a_model_gets_wrong_fails_its_load(
    start_server: StartServer, repository: Path, body: str, message: str
) -> None:
    write_python_model(repository, "good", ECHO)
    server = start_server(model_repository=repository, python_models="in-process", startup_models=["good"])
    write_python_model(repository, "bad", body, config_text(instances=2))
    with pytest.raises(ti.TritonError, match=message):
        server.load("bad")
    assert answer(server.model("good"), x=array(1)).tolist() == [1]
    write_python_model(repository, "bad", ECHO)
    assert answer(server.load("bad"), x=array(1)).tolist() == [1]


def test_a_start_fails_with_the_models_message(runtime: ti.runtime.Runtime, repository: Path) -> None:
    write_python_model(repository, "bad", "def initialize(self, args):\n    raise ValueError('no weights')\n" + ECHO)
    with pytest.raises(ti.InternalError, match="ValueError: no weights"):
        ti.Server(model_repository=repository, python_models="in-process").start()


@pytest.mark.parametrize("other", ["parameter", "stub"])
def test_an_interpreter_of_its_own_is_refused(start_server: StartServer, repository: Path, other: str) -> None:
    more = 'parameters { key: "EXECUTION_ENV_PATH" value { string_value: "/env.tar.gz" } }\n' if other != "stub" else ""
    folder = write_python_model(repository, "foreign", ECHO, config_text(more=XY + more))
    if other == "stub":
        (folder / "triton_python_backend_stub").touch()
    server = start_server(model_repository=repository, python_models="in-process", exit_on_error=False)
    with pytest.raises(ti.TritonError, match=r"an interpreter of its own.*python_models='stub'"):
        server.load("foreign")


def test_a_reload_brings_the_new_code(start_server: StartServer, repository: Path) -> None:
    finalized = repository.parent / "finalized"
    body = f"""
    def execute(self, requests):
        return [y([helper.VALUE]) for each in requests]

    def finalize(self):
        with open({str(finalized)!r}, "a") as file:
            file.write(str(helper.VALUE))
    """
    head = (
        "import helper\nimport numpy as np\nimport triton_python_backend_utils as pb_utils\nfrom package import inner\n"
    )
    head += "def y(values):\n    return pb_utils.InferenceResponse([inner.tensor(values)])\n"
    folder = write_python_model(repository, "changing", body, head=head)
    (folder / "1" / "package").mkdir()
    (folder / "1" / "package" / "__init__.py").touch()
    (folder / "1" / "package" / "inner.py").write_text(
        "import numpy as np\nimport triton_python_backend_utils as pb\n"
        "def tensor(values):\n    return pb.Tensor('y', np.array(values, np.float32))\n"
    )
    (folder / "1" / "helper.py").write_text("VALUE = 1\n")
    server = start_server(model_repository=repository, python_models="in-process")
    assert answer(server.model("changing"), x=array(0)).tolist() == [1]
    (folder / "1" / "helper.py").write_text("VALUE = 2\n")
    assert answer(server.load("changing"), x=array(0)).tolist() == [2]
    assert "helper" not in sys.modules
    server.unload("changing", wait_until_unloaded=True)
    server.stop()
    assert sorted(finalized.read_text()) == ["1", "2"]  # the former one ends when its requests have
    assert not [each for each in sys.modules if "_triton_inprocess_model_" in each and each.endswith(".helper")]


def test_nothing_of_a_model_stays(start_server: StartServer, repository: Path) -> None:
    write_python_model(repository, "keeping", KEEPING)
    server = start_server(model_repository=repository, python_models="in-process")
    sent = array(1, 2)
    kept = weakref.ref(sent)
    answer(server.model("keeping"), x=sent)
    del sent
    gc.collect()
    assert kept() is not None  # the model keeps the request, whose input it is
    server.stop()
    gc.collect()
    assert kept() is None


@pytest.mark.parametrize("mode", [ti.ModelControlMode.NONE, ti.ModelControlMode.POLL])
def test_modes_in_which_triton_loads(start_server: StartServer, repository: Path, mode: ti.ModelControlMode) -> None:
    write_python_model(repository, "early", ECHO)
    server = start_server(model_repository=repository, python_models="in-process", model_control_mode=mode)
    assert answer(server.model("early"), x=array(1)).tolist() == [1]
    if mode is ti.ModelControlMode.POLL:
        write_python_model(repository, "late", ECHO)
        server.poll_model_repository()
        assert answer(server.model("late"), x=array(1)).tolist() == [1]


def test_a_load_takes_another_configuration_and_other_files(start_server: StartServer, repository: Path) -> None:
    write_python_model(repository, "echo", ECHO)
    server = start_server(model_repository=repository, python_models="in-process")
    other = {**server.model("echo").config(), "parameters": {"factor": {"string_value": "3"}}}
    code = (repository / "echo" / "1" / "model.py").read_text().replace("y(x_of(each))", "y(x_of(each) + self.more)")
    code += "    def initialize(self, args):\n"
    code += "        self.more = float(json.loads(args['model_config'])['parameters']['factor']['string_value'])\n"
    model = server.load("echo", config=other, files={"1/model.py": code.encode()})
    assert answer(model, x=array(1)).tolist() == [4]


@needs_cancel
def test_a_model_sees_that_a_request_is_cancelled(start_server: StartServer, repository: Path) -> None:
    body = """
    def execute(self, requests):
        (request,) = requests
        sender = request.get_response_sender()
        sender.send(y([0]))
        while not (request.is_cancelled() and sender.is_cancelled()):
            threading.Event().wait(0.001)
        error = pb_utils.TritonError("seen", pb_utils.TritonError.CANCELLED)
        sender.send(pb_utils.InferenceResponse(error=error), pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
    """
    write_python_model(repository, "waiting", body, config_text(more=DECOUPLED))
    server = start_server(model_repository=repository, python_models="in-process")
    responses = server.model("waiting").infer(inputs={"x": array(1)})
    next(responses)
    responses.cancel()
    with pytest.raises(ti.CancelledError):
        list(responses)


AGAIN = """
def initialize(self, args):
    self.times = 0

def execute(self, requests):
    self.times += 1
    if self.times < 3:
        for each in requests:
            each.set_release_flags(pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)
        return [None] * len(requests)
    return [y([[self.times]]) for each in requests]
"""


def test_a_request_is_executed_again(start_server: StartServer, repository: Path) -> None:
    new = not lacks("TRITONBACKEND_InferenceRequestTimeoutMicroseconds")  # as old as the flag: C API 1.27
    iterative = "sequence_batching { iterative_sequence : true }\n" if new else ""
    write_python_model(repository, "again", AGAIN, config_text(more=XY + iterative, max_batch_size=1))
    write_python_model(repository, "wrong", AGAIN, config_text(max_batch_size=1))
    server = start_server(model_repository=repository, python_models="in-process")
    sent = np.zeros((1, 1), np.float32)
    if new:
        assert answer(server.model("again"), x=sent).tolist() == [[3]]
    else:
        with pytest.raises(ti.UnsupportedError, match=r"RELEASE_RESCHEDULE needs C API 1\.27"):
            answer(server.model("again"), x=sent)
    with pytest.raises(ti.TritonError, match="RELEASE_RESCHEDULE"):  # no iterative batcher
        answer(server.model("wrong"), x=sent)


def test_a_model_says_that_it_is_not_ready(start_server: StartServer, repository: Path) -> None:
    body = (
        ECHO
        + """
def is_model_ready(self):
    return False
"""
    )
    write_python_model(repository, "shy", body)
    server = start_server(model_repository=repository, python_models="in-process", strict_readiness=False)
    assert answer(server.model("shy"), x=array(1)).tolist() == [1]
    # Triton asks from backend API 1.19 on, which none of the runtimes here has: it is asked in Triton's stead.
    extension = ctypes.CDLL(str(_native.__file__))
    extension.TRITONBACKEND_ModelInstanceReady.restype = ctypes.c_void_p
    (instance,) = next(each for each in _python_model_runner._loaded if each._context.model == "shy")._objects
    error = extension.TRITONBACKEND_ModelInstanceReady(ctypes.c_void_p(instance))
    assert error is not None
    triton = ctypes.CDLL(str(ti.runtime.load().path))
    triton.TRITONSERVER_ErrorMessage.restype = ctypes.c_char_p
    said = triton.TRITONSERVER_ErrorMessage(ctypes.c_void_p(error))
    triton.TRITONSERVER_ErrorDelete(ctypes.c_void_p(error))
    assert said == b"model 'shy' says that it is not ready"


def test_python_models_is_checked() -> None:
    with pytest.raises(ValueError, match="python_models must be 'stub' or 'in-process', not 'here'"):
        ti.Server(python_models="here").start()


def test_threads_of_a_model_ask_the_only_server(start_server: StartServer, repository: Path) -> None:
    body = """
    def execute(self, requests):
        answers = []
        def ask():
            asked = pb_utils.InferenceRequest(model_name="echo", inputs=requests[0].inputs()).exec()
            answers.append(y(pb_utils.get_output_tensor_by_name(asked, "y").as_numpy()))
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
        return answers
    """
    write_python_model(repository, "echo", ECHO)
    write_python_model(repository, "threaded", body)
    server = start_server(model_repository=repository, python_models="in-process")
    if len(other_servers(server)) == 0:
        assert answer(server.model("threaded"), x=array(5)).tolist() == [5]


def other_servers(server: ti.Server) -> list[ti.Server]:
    from triton_inprocess._model_servers import servers

    return [each for each in servers.values() if each is not server]
