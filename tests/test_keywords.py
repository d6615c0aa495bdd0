"""The keywords that type checkers know are those that the calls take. What they see is checked in `typing/`."""

from __future__ import annotations

import dataclasses
import inspect

import triton_inprocess as ti
from triton_inprocess import _keywords


def names(keywords: type) -> set[str]:
    return set(keywords.__annotations__)


def test_keywords_of_requests_are_the_fields_of_a_request() -> None:
    fields = {each.name: str(each.type) for each in dataclasses.fields(ti.InferenceRequest) if each.name != "model"}
    assert names(_keywords.RequestKeywords) == set(fields)
    assert names(_keywords.ManyKeywords) == set(fields) - {"inputs"}
    own = {"inputs", "flags", "correlation_id"}
    assert names(_keywords.SequenceKeywords) == set(fields) - own | {"raise_on_error"}


def test_keywords_of_a_server_are_its_options() -> None:
    assert names(_keywords.OptionsKeywords) == {each.name for each in dataclasses.fields(ti.Options)}
    own = {name: each.__forward_arg__ for name, each in _keywords.OptionsKeywords.__annotations__.items()}
    assert own == {each.name: each.type for each in dataclasses.fields(ti.Options)}


def test_keywords_of_the_decorator_are_those_of_add_model() -> None:
    arguments = set(inspect.signature(ti.Server.add_model).parameters)
    stated = {"self", "fn", "name", "inputs", "outputs", "max_batch_size"}
    assert names(_keywords.FunctionKeywords) == arguments - stated
