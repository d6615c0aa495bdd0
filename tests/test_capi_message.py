"""TRITONSERVER_Message: JSON texts that go into the library and come out of it."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from conftest import examples, run_python, shown
from hypothesis import given
from hypothesis import strategies as st

import triton_inprocess as ti
from triton_inprocess import capi

pytestmark = pytest.mark.usefixtures("runtime")

Message = capi.TRITONSERVER_Message

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=30,
)


def nested(opening: str, inner: str, closing: str, levels: int) -> str:
    return opening * levels + inner + closing * levels


NESTINGS = [
    pytest.param("[", "", "]", id="arrays"),
    pytest.param('{"a":', "1", "}", id="objects"),
    pytest.param("[[{}],", "1", "]", id="arrays with brothers"),
    pytest.param("[", "", "", id="arrays without an end"),
    pytest.param('{"a":', "", "", id="objects without an end"),
]


@given(JSON_VALUES, st.booleans())
@examples(300)
def test_what_goes_in_comes_out(value: Any, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    assert json.loads(Message(text).serialize_to_json()) == value


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[]",
        "null",
        "true",
        "1",
        '"text"',
        ' { "a" : [ 1 , 2 ] } ',
        '{"é":"日本🙂"}',
        '["\\u00e9\\ud83d\\ude42\\u0000\\n\\/"]',
        "[1.5e300, -0.0, 18446744073709551615, -9223372036854775808]",
        '{"a":1,"a":2}',
    ],
)
def test_texts_keep_their_meaning(text: str) -> None:
    assert json.loads(Message(text).serialize_to_json()) == json.loads(text)


def test_a_message_can_be_read_again_and_again() -> None:
    message = Message('{"a": [1, 2]}')
    first = message.serialize_to_json()
    assert [message.serialize_to_json() for _ in range(100)] == [first] * 100
    assert json.loads(first) == {"a": [1, 2]}


def test_a_message_needs_nothing_but_itself() -> None:
    texts = [json.dumps({"number": i, "text": "x" * i}) for i in range(200)]
    messages = [Message(text) for text in texts]
    del texts
    for i in reversed(range(0, 200, 2)):
        del messages[i]
    for i, message in enumerate(messages):
        assert json.loads(message.serialize_to_json())["number"] == 2 * i + 1


def test_a_huge_text() -> None:
    value = {"numbers": list(range(500_000)), "text": "日" * 1_000_000}
    assert json.loads(Message(json.dumps(value, ensure_ascii=False)).serialize_to_json()) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "{",
        "[1,]",
        "[1 2]",
        "{'a': 1}",
        "{1: 2}",
        "nul",
        "[01]",
        '"open',
        '["\\x"]',
        '["\\ud800"',
        "[]]",
        "[}",
        "{} {}",
        "// no\n{}",
        "\ufeff{}",
        "\0",
        "{}\0",
        "NaN",
        "x" * 1_000_000,
    ],
)
def test_what_is_no_json_is_kept_as_it_is(text: str) -> None:
    # The library does not parse it.
    assert Message(text).serialize_to_json() == text


@pytest.mark.parametrize("text", [None, 1, 1.5, b"{}", bytearray(b"{}"), {}, [], object()], ids=shown)
def test_what_is_no_text_is_a_type_error(text: Any) -> None:
    with pytest.raises(TypeError):
        Message(text)


@pytest.mark.parametrize("text", ['"\ud800"', "\udcff", '{"\ud83d": 1}'], ids=ascii)
def test_a_lone_surrogate_is_refused(text: str) -> None:
    with pytest.raises((TypeError, ValueError)):
        Message(text)


def test_a_subclass_of_str_is_a_text() -> None:
    class Text(str):
        __slots__ = ()

        def __str__(self) -> str:
            raise RuntimeError("no")

        def encode(self, *_: Any) -> bytes:
            raise RuntimeError("no")

    assert Message(Text("[1]")).serialize_to_json() == "[1]"


# -- nesting -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("levels", [1, 100, 999, 1000, 1001, 100_000, 1_000_000])
@pytest.mark.parametrize(("opening", "inner", "closing"), NESTINGS)
def test_a_nested_text_is_kept_as_it_is(opening: str, inner: str, closing: str, levels: int) -> None:
    text = nested(opening, inner, closing, levels)
    assert Message(text).serialize_to_json() == text


def test_brackets_in_texts_are_no_nesting() -> None:
    for text in (
        json.dumps(["[" * 5000, "{" * 5000]),
        json.dumps(['\\"' + "[" * 5000]),
        json.dumps({'"' + "{" * 5000: "\\"}),
        json.dumps([[]] * 5000),
        json.dumps([["\\"], "[" * 5000]),
    ):
        assert json.loads(Message(text).serialize_to_json()) == json.loads(text)


def test_deep_texts_do_not_end_the_process() -> None:
    program = """
    import sys, threading
    from triton_inprocess import capi
    def run():
        for levels in (999, 1000, 1001, 10**5, 10**6):
            for opening, inner, closing in (("[", "", "]"), ('{"a":', "1", "}"), ("[", "", ""), ("[]", "", ""),
                                            ("[}", "", ""), ('{"', "", ""), ('"[', "", ""), ("[1,[", "1", "]]")):
                text = opening * levels + inner + closing * levels
                assert capi.TRITONSERVER_Message(text).serialize_to_json() == text
        print("done")
    run()
    threading.stack_size(256 * 1024)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    """
    result = run_python(program)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["done", "done"]


def test_a_server_s_messages_are_json(server: ti.Server) -> None:
    message = server.capi.metadata()
    assert isinstance(message, Message)
    assert json.loads(message.serialize_to_json())["name"] == "triton"


def test_a_message_outlives_its_server(start_server: Any) -> None:
    server = start_server()
    message = server.capi.metadata()
    server.stop()
    assert json.loads(message.serialize_to_json())["name"] == "triton"


def test_threads_may_share_a_message() -> None:
    message = Message(json.dumps(list(range(1000))))
    results: list[bool] = []

    def read() -> None:
        results.extend(json.loads(message.serialize_to_json()) == list(range(1000)) for _ in range(50))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 200
