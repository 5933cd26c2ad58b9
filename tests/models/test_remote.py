"""A provider's key goes to the provider's own hosts, and to no other server."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from prefect_swarm.errors import InputError, ModelError
from prefect_swarm.models.remote import remote_model
from prefect_swarm.models.resolve import forget_models, resolve_model
from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelRequest
from pydantic_ai.models import Model
from pydantic_ai.models.openai import OpenAIChatModel

ANSWER = {
    "id": "1",
    "object": "chat.completion",
    "created": 0,
    "model": "any",
    "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hello"}}
    ],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}


class Server(ThreadingHTTPServer):
    """Speaks OpenAI's chat protocol on loopback and keeps the headers of its requests."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.headers: list[dict[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Server)
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        self.rfile.read(int(self.headers["content-length"]))
        body = json.dumps(ANSWER).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as found:
        thread = threading.Thread(target=found.serve_forever, args=(0.01,))
        thread.start()
        yield found
        found.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("OPENAI", "ANTHROPIC", "OLLAMA"):
        monkeypatch.setenv(f"{name}_API_KEY", "sk-secret")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-secret")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    forget_models()
    yield
    forget_models()


def ask(name: str, server: Server) -> dict[str, str]:
    """Send a request to the model of a name, and return the headers that the server saw."""

    async def request() -> None:
        model = await resolve_model(name, "worker")
        await model_request(model, [ModelRequest.user_text_prompt("Hello")])

    asyncio.run(request())
    return server.headers[-1]


def test_another_server_gets_nothing_of_the_providers(server: Server) -> None:
    headers = ask(f"openai:any@{server.url}", server)
    assert "authorization" in headers
    assert "secret" not in json.dumps(headers)


def test_a_provider_at_another_server_keeps_its_key(server: Server) -> None:
    headers = ask(f"ollama:any@{server.url}", server)
    assert "authorization" in headers
    assert "secret" not in json.dumps(headers)


def test_another_server_gets_the_key_that_its_name_points_to(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_SERVERS_KEY", "sk-mine")
    headers = ask(f"openai:any@{server.url}#MY_SERVERS_KEY", server)
    assert headers["authorization"] == "Bearer sk-mine"


def test_a_variable_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MY_SERVERS_KEY", raising=False)
    with pytest.raises(ModelError, match=r"Tier worker: .* variable MY_SERVERS_KEY, which is not"):
        asyncio.run(resolve_model("openai:any@http://127.0.0.1:9/v1#MY_SERVERS_KEY", "worker"))


def key_of(model: Model) -> str:
    assert isinstance(model, OpenAIChatModel)
    return str(model.client.api_key)


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://api.openai.com/v1", "sk-secret"),
        ("https://eu.api.openai.com/v1", "sk-secret"),
        ("http://api.openai.com/v1", "no-key"),
        ("https://api.openai.com.example.org/v1", "no-key"),
        ("https://notapi.openai.com/v1", "no-key"),
        ("https://example.org/api.openai.com", "no-key"),
    ],
)
def test_only_the_providers_own_hosts_get_its_key(url: str, key: str) -> None:
    assert key_of(remote_model("openai:any", base_url=url)) == key


@pytest.mark.attack("private")
def test_a_providers_host_before_another_is_refused() -> None:
    with pytest.raises(InputError, match="before the @"):
        remote_model("openai:any", base_url="https://api.openai.com@example.org/v1")


def test_a_key_that_is_given_goes_to_any_server() -> None:
    url = "https://example.org/v1"
    assert key_of(remote_model("openai:any", base_url=url, api_key="k")) == "k"
