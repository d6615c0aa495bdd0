"""Errors, traces and the C API. Read by type checkers only."""

from __future__ import annotations

from typing_extensions import assert_type

import triton_inprocess as ti
from triton_inprocess import capi

try:
    ti.Server().start()
except ti.NotFoundError as error:
    found: ti.TritonError = error
except ti.InternalError as error:
    if isinstance(error.__cause__, ti.FunctionTraceback):
        assert_type(error.__cause__.text, str)

trace = ti.Trace()
assert_type(trace.root, ti.TraceNode)
ti.Trace(timestamp=True)  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]

assert_type(capi.api_version(), tuple[int, int])
options = capi.TRITONSERVER_ServerOptions()
options.set_server_id("a")
options.set_server_id(1)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
assert_type(capi.TRITONSERVER_DataTypeString(capi.TRITONSERVER_DataType.FP32), str)
server = capi.TRITONSERVER_Server(options)
server.infer_async("request")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
