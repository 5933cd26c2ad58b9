"""`serve` says what is in the way before it loads anything; tests/serve has what it answers."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from .conftest import Invoke


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--model", "/none.gguf"], "The model file /none.gguf doesn't exist."),
        (["--host", "10.0.0.7"], "can be reached from other machines, so a key is needed"),
        (["--key-env", "NO_SUCH_KEY"], "The environment variable NO_SUCH_KEY is not set"),
        (["--host", "no.such.host.invalid", "--key-env", "KEY"], "can't listen on no.such.host"),
    ],
    ids=["file", "no key", "empty key", "host"],
)
def test_what_is_in_the_way_is_named(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    monkeypatch.setenv("KEY", "k")
    result = invoke("serve", *arguments)
    assert result.exit_code == 2
    assert words in " ".join(result.stderr.split())


def test_a_port_that_is_taken_is_named(invoke: Invoke, swarm_home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = invoke("serve", "--port", port)
    assert result.exit_code == 2
    assert f"can't listen on 127.0.0.1 port {port}" in result.stderr
    assert not (swarm_home / "served").exists()
