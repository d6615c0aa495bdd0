"""The description of the application for OpenAPI 3.1: GET openapi.json."""

from __future__ import annotations

from typing import Any

from .. import __version__
from .._access import Access
from .._convert import MOST_DIMENSIONS
from .._native import DataType
from ._exchange import Exchange

__all__ = ["OpenApi", "description"]

_Schema = dict[str, Any]

_STRING: _Schema = {"type": "string"}
_TEXT: _Schema = {"type": "string", "pattern": "^[^\\u0000]*$"}
_BOOLEAN: _Schema = {"type": "boolean"}
_COUNT: _Schema = {"type": "integer", "minimum": 0, "maximum": 2**63 - 1}
_NAME: _Schema = {"type": "string", "pattern": "^[^/\\\\\\u0000]+$", "not": {"enum": [".", ".."]}}
_VERSION: _Schema = {"type": "string", "pattern": "^[0-9]{1,18}$"}
_ANY_OBJECT: _Schema = {"type": "object"}
_SCALAR: _Schema = {"type": ["string", "number", "boolean"]}

_ERRORS = {
    "400": "The request is wrong.",
    "401": "It lacks the bearer token.",
    "403": "This is switched off, or the page of another origin asks for it.",
    "404": "There is no such model, version, path or name.",
    "408": "The body came too slowly.",
    "413": "The body is larger than the limits allow.",
    "415": "The body is in a coding that is not known.",
    "500": "The model has failed.",
    "501": "It cannot be done here.",
    "503": "It cannot be done now: too many requests, or no memory for them.",
    "504": "The model did not answer in time.",
}


def _object(required: tuple[str, ...] = (), /, **properties: _Schema) -> _Schema:
    return {"type": "object", "properties": properties, "required": list(required)}


def _array(items: _Schema) -> _Schema:
    return {"type": "array", "items": items}


def _optional(schema: _Schema) -> _Schema:
    return {**schema, "type": [schema["type"], "null"]}


def _parameters(**properties: _Schema) -> _Schema:
    return _optional(_object(**properties))


def _reference(name: str) -> _Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _schemas() -> dict[str, _Schema]:
    tensor = {
        "name": _TEXT,
        "datatype": {"enum": [name for name in DataType.__members__ if name != "INVALID"]},
        "shape": {**_array(_COUNT), "maxItems": MOST_DIMENSIONS},
    }
    sequence_id = {"oneOf": [{"type": "integer", "minimum": 0, "maximum": 2**64 - 1}, _TEXT]}
    memory = {
        "shared_memory_region": _TEXT,
        "shared_memory_offset": _COUNT,
        "shared_memory_byte_size": _COUNT,
        "binary_data_size": _COUNT,
    }
    return {
        "Error": {**_object(("error",), error=_STRING), "additionalProperties": False},
        "RequestInput": _object(
            ("name", "datatype", "shape"),
            **tensor,
            data={"type": "array", "description": "The elements, flat or nested as the shape."},
            parameters=_parameters(**memory),
        ),
        "RequestOutput": _object(
            ("name",),
            name=_TEXT,
            parameters=_parameters(**memory, binary_data=_BOOLEAN, classification=_COUNT),
        ),
        "InferRequest": _object(
            ("inputs",),
            id=_TEXT,
            inputs=_array(_reference("RequestInput")),
            outputs=_array(_reference("RequestOutput")),
            parameters={
                **_parameters(
                    sequence_id=sequence_id,
                    sequence_start=_BOOLEAN,
                    sequence_end=_BOOLEAN,
                    priority=_COUNT,
                    timeout=_COUNT,
                    binary_data_output=_BOOLEAN,
                ),
                "additionalProperties": _SCALAR,
            },
        ),
        "InferAnswer": _object(
            ("model_name", "model_version", "outputs"),
            model_name=_STRING,
            model_version=_STRING,
            id=_STRING,
            parameters=_ANY_OBJECT,
            outputs=_array(
                _object(("name", "datatype", "shape"), **tensor, data=_array({}), parameters=_object(**memory))
            ),
        ),
        "GenerateAnswer": _object(("model_name", "model_version"), model_name=_STRING, model_version=_STRING),
        "Model": _object(
            ("name", "versions", "platform", "inputs", "outputs"),
            name=_STRING,
            versions=_array(_STRING),
            platform=_STRING,
            inputs=_array(_object(("name", "datatype", "shape"))),
            outputs=_array(_object(("name", "datatype", "shape"))),
        ),
        "Server": _object(("name", "version", "extensions"), name=_STRING, version=_STRING, extensions=_array(_STRING)),
        "Index": _array(_object(("name",), name=_STRING, version=_STRING, state=_STRING, reason=_STRING)),
        "Statistics": _object(("model_stats",), model_stats=_array(_ANY_OBJECT)),
        "Empty": {**_object(), "additionalProperties": False},
        "Object": _ANY_OBJECT,
        "Objects": _array(_ANY_OBJECT),
        "IndexRequest": _object(ready=_BOOLEAN),
        "LoadRequest": _object(parameters={**_parameters(config=_optional(_STRING)), "additionalProperties": _STRING}),
        "UnloadRequest": _object(parameters=_parameters(unload_dependents=_BOOLEAN)),
        "RegisterRequest": _object(("key", "byte_size"), key=_TEXT, offset=_COUNT, byte_size=_COUNT),
        "LogSettings": {
            **_object(
                log_info=_BOOLEAN,
                log_warning=_BOOLEAN,
                log_error=_BOOLEAN,
                log_verbose_level={"type": "integer", "minimum": 0, "maximum": 2**31 - 1},
                log_format={"enum": ["default", "ISO8601"]},
            ),
            "additionalProperties": False,
        },
    }


def _operation(
    summary: str, answer: str | None, request: str | None = None, media: str = "application/json"
) -> _Schema:
    done: _Schema = {"description": "It is done."}
    if answer is not None:
        done["content"] = {media: {"schema": _STRING if answer == "text" else _reference(answer)}}
    result: _Schema = {"summary": summary, "responses": {"200": done}}
    result["responses"] |= {status: {"$ref": f"#/components/responses/{status}"} for status in _ERRORS}
    if request is not None:
        content: _Schema = {"application/json": {"schema": _reference(request)}}
        result["requestBody"] = {"required": request in ("InferRequest", "RegisterRequest"), "content": content}
    return result


def _model_paths() -> dict[str, _Schema]:
    paths: dict[str, _Schema] = {}
    for model in ("/v2/models/{name}", "/v2/models/{name}/versions/{version}"):
        infer = _operation("Execute the model.", "InferAnswer", "InferRequest")
        # The binary extension, whose JSON ends where Inference-Header-Content-Length says.
        binary = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
        infer["requestBody"]["content"] |= binary
        infer["responses"]["200"]["content"] |= binary
        infer["parameters"] = [
            {"name": "Inference-Header-Content-Length", "in": "header", "schema": {"type": "integer", "minimum": 0}}
        ]
        paths |= {
            model: {"get": _operation("What the model takes and gives.", "Model")},
            f"{model}/ready": {"get": _operation("Whether it is ready.", None)},
            f"{model}/config": {"get": _operation("Its configuration.", "Object")},
            f"{model}/stats": {"get": _operation("Its statistics.", "Statistics")},
            f"{model}/infer": {"post": infer},
            f"{model}/generate": {"post": _operation("Execute it, with plain JSON.", "GenerateAnswer", "Object")},
            f"{model}/generate_stream": {
                "post": _operation("Likewise, with events.", "text", "Object", "text/event-stream")
            },
        }
    return paths


def _control_paths(access: Access) -> dict[str, _Schema]:
    paths: dict[str, _Schema] = {
        "/v2/repository/index": {"post": _operation("The models.", "Index", "IndexRequest")},
    }
    if access.allow_model_control:
        model = "/v2/repository/models/{name}"
        paths[f"{model}/load"] = {"post": _operation("Load a model.", "Empty", "LoadRequest")}
        paths[f"{model}/unload"] = {"post": _operation("Unload a model.", "Empty", "UnloadRequest")}
    if access.allow_shared_memory:
        memory = "/v2/systemsharedmemory"
        for part in (memory, f"{memory}/region/{{name}}"):
            paths[f"{part}/status"] = {"get": _operation("What is registered.", "Objects")}
            paths[f"{part}/unregister"] = {"post": _operation("Forget it.", "Empty", "Object")}
        register = _operation("Make shared memory known.", "Empty", "RegisterRequest")
        paths[f"{memory}/region/{{name}}/register"] = {"post": register}
    if access.allow_log_settings:
        paths["/v2/logging"] = {
            "get": _operation("What is logged.", "Object"),
            "post": _operation("Change it.", "Object", "LogSettings"),
        }
    return paths


def description(access: Access) -> _Schema:
    """What clients may send, and get; what is switched off is left out."""
    paths: dict[str, _Schema] = {
        "/v2": {"get": _operation("The server.", "Server")},
        "/v2/health/live": {"get": _operation("Whether the server lives.", None)},
        "/v2/health/ready": {"get": _operation("Whether it is ready.", None)},
        "/v2/models/stats": {"get": _operation("The statistics of all models.", "Statistics")},
        **_model_paths(),
        **_control_paths(access),
        "/metrics": {"get": _operation("The metrics, for Prometheus.", "text", media="text/plain")},
    }
    for path, item in paths.items():
        item["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": schema}
            for name, schema in (("name", _NAME), ("version", _VERSION))
            if f"{{{name}}}" in path
        ]
    error = {"application/json": {"schema": _reference("Error")}}
    result: _Schema = {
        "openapi": "3.1.0",
        "info": {"title": "triton-inprocess: KServe's protocol (v2)", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": _schemas(),
            "responses": {status: {"description": text, "content": error} for status, text in _ERRORS.items()},
        },
    }
    if access.token is not None:
        result["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        result["security"] = [{"token": []}]
        for path in ("/v2/health/live", "/v2/health/ready"):
            paths[path]["get"]["security"] = []
    return result


class OpenApi:
    """GET openapi.json."""

    def __init__(self, access: Access) -> None:
        """For an application with this access."""
        self._description = description(access)

    async def __call__(self, exchange: Exchange, path: dict[str, Any]) -> None:
        """Answer a request."""
        await exchange.answer_json(self._description)
