"""`nvidia-pytriton`: a Python function served over HTTP, and its client."""

from __future__ import annotations

import os
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .client import Client, FloatArray
from .missing import MissingPeerError
from .server_program import free_ports
from .settings import Settings

_TIMEOUT = 60.0


def _echo(requests: list[Any]) -> list[dict[str, Any]]:
    return [{"y": request.data["x"]} for request in requests]


@contextmanager
def pytriton(_: Settings) -> Iterator[Client]:
    """Serves the function and connects."""
    try:
        from pytriton.client import ModelClient
        from pytriton.model_config import ModelConfig, Tensor
        from pytriton.triton import Triton, TritonConfig
    except ImportError as error:
        raise MissingPeerError(f"{error}; get it by: pip install nvidia-pytriton") from error
    _find_libpython()
    http, grpc, metrics = free_ports(3)
    config = TritonConfig(http_port=http, grpc_port=grpc, metrics_port=metrics, http_address="127.0.0.1")
    with tempfile.TemporaryDirectory(prefix="pytriton-") as folder:
        workspace = Path(folder) / "workspace"  # it wants to make that itself
        with Triton(config=config, workspace=workspace) as triton:
            triton.bind(
                model_name="echo",
                infer_func=_echo,
                inputs=[Tensor(name="x", dtype=np.float32, shape=(-1,))],
                outputs=[Tensor(name="y", dtype=np.float32, shape=(-1,))],
                config=ModelConfig(batching=False),
            )
            triton.run()
            with ModelClient(
                f"http://127.0.0.1:{http}", "echo", init_timeout_s=_TIMEOUT, inference_timeout_s=_TIMEOUT
            ) as client:

                def infer(array: FloatArray) -> Any:
                    return client.infer_sample(x=array)["y"]

                yield Client(infer, infer)


def _find_libpython() -> None:
    """Its server starts a Python that is linked with libpython, which may lie where nobody looks for it."""
    libraries = [path for path in (os.environ.get("LD_LIBRARY_PATH"), sysconfig.get_config_var("LIBDIR")) if path]
    os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(libraries)
