"""The application describes itself, and is what it describes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import hypothesis
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from helpers_http import add_twice, ask

import triton_inprocess as ti
from triton_inprocess.asgi import create_app

SWITCHES = {
    "allow_model_control": "/v2/repository/models/{name}/load",
    "allow_shared_memory": "/v2/systemsharedmemory/status",
    "allow_log_settings": "/v2/logging",
}


def described(server: ti.Server, **arguments: Any) -> Any:
    token = arguments.get("token")
    with server.serve(0, **arguments) as serving:
        answer = ask(serving, "GET", "/openapi.json", headers={"Authorization": f"Bearer {token}"} if token else {})
        assert answer.status == 200, answer.body
        return answer.json


def test_every_path_that_is_described_is_there(server: ti.Server) -> None:
    switches = dict.fromkeys(SWITCHES, True)
    description = described(server, **switches)
    there = {route.path: route.methods for route in create_app(server, **switches).routes}
    for path, item in description["paths"].items():
        methods = {name.upper() for name in item if name != "parameters"}
        assert methods == there[path] - {"HEAD"}, path
        assert {each["name"] for each in item["parameters"]} == set(re.findall(r"{(\w+)}", path))
    # What is answered with 501, or is one path by two names, is not worth a word.
    undescribed = set(there) - set(description["paths"])
    assert not [path for path in undescribed if not re.search(r"cudashared|trace|{repository}|openapi|^/v2/$", path)]


def test_every_reference_leads_somewhere(server: ti.Server) -> None:
    description = described(server)
    references = set(re.findall(r'"\$ref": "#/([^"]+)"', json.dumps(description)))
    assert references
    for reference in references:
        found = description
        for part in reference.split("/"):
            found = found[part]


@pytest.mark.parametrize(("switch", "path"), SWITCHES.items())
def test_what_is_switched_off_is_left_out(server: ti.Server, switch: str, path: str) -> None:
    assert path not in described(server)["paths"]
    assert path in described(server, **{switch: True})["paths"]


def test_a_token_is_described_and_needed(server: ti.Server) -> None:
    assert "security" not in described(server)
    description = described(server, token="secret")
    assert description["security"] == [{"token": []}]
    assert description["paths"]["/v2/health/live"]["get"]["security"] == []
    with server.serve(0, token="secret") as serving:
        assert ask(serving, "GET", "/openapi.json").status == 401


def test_a_path_says_all_that_it_can_do(server: ti.Server) -> None:
    with server.serve(0) as serving:
        answer = ask(serving, "OPTIONS", "/v2/logging")
        assert answer.status == 405
        assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD", "POST"}


@pytest.mark.skipif(
    hypothesis.settings.get_current_profile_name() != "nightly", reason="only with --hypothesis-profile=nightly"
)
@pytest.mark.timeout(1200)
def test_schemathesis_finds_nothing(server: ti.Server, tmp_path: Path) -> None:
    """Thousands of requests, right and wrong: no failure of the server, no answer that is not described."""
    program = shutil.which("schemathesis", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("schemathesis is not installed")
    add_twice(server)
    with server.serve(0, allow_shared_memory=True, allow_log_settings=True) as serving:
        # Whether a model likes what is valid as such is not described.
        arguments = ["--exclude-checks", "positive_data_acceptance", "--max-examples", "200"]
        result = subprocess.run(
            [program, "run", f"{serving.url}/openapi.json", *arguments],
            capture_output=True,
            text=True,
            timeout=1100,
            cwd=tmp_path,
            check=False,
        )
        assert result.returncode == 0, result.stdout
        assert ask(serving, "GET", "/v2/models/twice").status == 200
