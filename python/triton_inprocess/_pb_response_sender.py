"""How a Triton Python model answers a request when it likes: several times, later, from any thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._pb_error import TritonModelException
from ._pb_response import InferenceResponse

if TYPE_CHECKING:
    from ._native import ModelRequest, Tensor

__all__ = ["FINAL", "InferenceResponseSender", "native_outputs"]

FINAL = 1  # TRITONSERVER_RESPONSE_COMPLETE_FINAL


class InferenceResponseSender:
    """Sends the responses to a request. It may be kept when `execute` has returned, and used on any thread.

    When it is dropped before the last response the request fails.
    """

    __slots__ = ("_decoupled", "_native", "_used")

    def __init__(self, native: ModelRequest, decoupled: bool) -> None:
        """Made by `InferenceRequest.get_response_sender`."""
        self._native: ModelRequest = native
        self._decoupled: bool = decoupled
        self._used = False

    def send(self, response: InferenceResponse | None = None, flags: int = 0) -> None:
        """Send a response (TRITONBACKEND_ResponseSend); without one, only say that it was the last.

        Args:
            response: The response; None with the flag.
            flags: TRITONSERVER_RESPONSE_COMPLETE_FINAL for the last one, otherwise 0.

        Raises:
            TypeError: `response` is no InferenceResponse.
            TritonModelException: The flags are others, nothing is to be sent, the last response was sent already, or
                the model is not decoupled and this is not its only response.
        """
        if response is not None and not isinstance(response, InferenceResponse):
            raise TypeError(f"response must be a pb_utils.InferenceResponse or None, not {type(response).__name__}")
        if isinstance(flags, bool) or flags not in (0, FINAL):
            raise TritonModelException(f"flags must be 0 or TRITONSERVER_RESPONSE_COMPLETE_FINAL, not {flags!r}")
        if response is None and flags == 0:
            raise TritonModelException("response must be given when flags is 0")
        if not self._native.open:
            raise TritonModelException("the response sender was closed: the last response was sent already")
        if not self._decoupled and response is not None and (self._used or flags == 0):
            raise TritonModelException(
                "a model that is not decoupled sends one response, with the flag TRITONSERVER_RESPONSE_COMPLETE_FINAL"
            )
        final = flags == FINAL
        if response is None:
            self._native.close()
            return
        self._used = True
        error = response.error()
        if error is not None:
            self._native.fail(error._exception(), response._parameters, final, False)
        else:
            self._native.send(native_outputs(response), response._parameters, final, False)

    def is_cancelled(self) -> bool:
        """Whether the request was cancelled (TRITONBACKEND_ResponseFactoryIsCancelled)."""
        return self._native.cancelled


def native_outputs(response: InferenceResponse) -> list[tuple[str, Tensor]]:
    """The outputs as the backend takes them: in host memory."""
    return [(each.name(), each._native.to_host()) for each in response.output_tensors()]
