"""The temporary server answers whoever has its login, and neither pages nor other names."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from shutil import copyfile
from uuid import UUID, uuid4

import httpx
import pytest
from guarded_server import GuardedServer, guarded_server
from prefect_swarm.flows.prefect_io.temporary_server import refusal_of_request

attack = pytest.mark.attack("server")
LOGIN = "swarm:secret"
RIGHT = (b"authorization", b"Basic c3dhcm06c2VjcmV0")
HERE = (b"host", b"127.0.0.1:4200")


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, new_database: Path
) -> Generator[GuardedServer]:
    folder = tmp_path_factory.mktemp("guarded")
    copyfile(new_database, folder / "prefect.db")
    with guarded_server(folder) as running:
        yield running


def host_of(server: GuardedServer, name: str) -> tuple[str, str]:
    return ("Host", name.replace("PORT", str(server.port)))


@attack
@pytest.mark.parametrize(
    "name",
    [
        "attacker.example",
        "attacker.example:PORT",
        "127.0.0.1.attacker.example:PORT",
        "localhost.attacker.example",
        "attacker.example@127.0.0.1",
        "127.0.0.1 attacker.example",
        "192.168.0.1:PORT",
        "0.0.0.0:PORT",
        "[::ffff:10.0.0.1]:PORT",
        "[attacker.example]:PORT",
        "xn--lcalhost-54a:PORT",
        "",
        ":PORT",
    ],
)
def test_a_name_that_leads_here_is_no_name_of_the_server(server: GuardedServer, name: str) -> None:
    status, answer = server.ask(
        "/api/admin/version", host_of(server, name), ("Authorization", server.authorization)
    )
    assert status in (400, 403)
    assert "3." not in answer.partition("\r\n\r\n")[2]


@attack
def test_without_a_host_or_with_two_it_answers_nothing(server: GuardedServer) -> None:
    right = ("Authorization", server.authorization)
    assert server.ask("/api/admin/version", right)[0] in (400, 403)
    two = (host_of(server, "127.0.0.1:PORT"), host_of(server, "attacker.example"))
    assert server.ask("/api/admin/version", *two, right)[0] in (400, 403)


@pytest.mark.parametrize("name", ["127.0.0.1:PORT", "LocalHost:PORT", "127.0.0.1", "[::1]:PORT"])
def test_its_own_names_are_answered(server: GuardedServer, name: str) -> None:
    right = ("Authorization", server.authorization)
    assert server.ask("/api/admin/version", host_of(server, name), right)[0] == 200


@attack
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
@pytest.mark.parametrize(
    "origin",
    [
        "https://attacker.example",
        "null",
        "file://",
        "http://localhost:3000",
        "http://127.0.0.1:PORT",
        "chrome-extension://abc",
        "",
    ],
)
def test_no_page_of_a_browser_is_answered(server: GuardedServer, origin: str, method: str) -> None:
    status, answer = server.ask(
        "/api/flow_runs/filter",
        host_of(server, "127.0.0.1:PORT"),
        ("Origin", origin.replace("PORT", str(server.port))),
        ("Authorization", server.authorization),
        ("Content-Type", "application/json"),
        ("Access-Control-Request-Method", "POST"),
        ("Access-Control-Request-Headers", "authorization, content-type"),
        method=method,
        body="{}" if method == "POST" else "",
    )
    assert status == 403
    assert "access-control" not in answer.lower()


@attack
@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/docs",
        "/openapi.json",
        "/ui-settings",
        "/api",
        "/api/health",
        "/api/ready",
        "/api/docs",
        "/api/admin/version",
        "/api/admin/settings",
        "/api//health",
        "/api/health/../admin/version",
        "/api/static/prefect-logo-mark-gradient.png",
    ],
)
def test_nothing_is_answered_without_the_login(server: GuardedServer, path: str) -> None:
    assert server.ask(path, host_of(server, "127.0.0.1:PORT"))[0] == 401


@attack
@pytest.mark.parametrize(
    "shown",
    [
        "",
        "Basic",
        "Basic ",
        "Basic Og==",  # ":"
        "Basic c3dhcm06",  # "swarm:"
        "Basic YW5vdGhlcjpzZXJ2ZXI=",  # what the user has for another server
        "Basic ****",
        "Bearer TOKEN",
        "basic TOKEN",
        "TOKEN",
        "Basic TOKEN TOKEN",
        "Basic LOGIN",
    ],
)
def test_another_login_is_none(server: GuardedServer, shown: str) -> None:
    token = server.authorization.partition(" ")[2]
    shown = shown.replace("TOKEN", token).replace("LOGIN", server.login)
    asked = server.ask(
        "/api/admin/version", host_of(server, "127.0.0.1:PORT"), ("Authorization", shown)
    )
    assert asked[0] == 401


@attack
@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", None])
def test_what_a_page_may_send_unasked_changes_nothing(
    server: GuardedServer, kind: str | None
) -> None:
    name = f"made-{uuid4().hex[:8]}"
    headers = [host_of(server, "127.0.0.1:PORT")] + ([("Content-Type", kind)] if kind else [])
    body = json.dumps({"name": name})
    assert server.ask("/api/flows/", *headers, method="POST", body=body)[0] == 401
    with own_client(server) as client:
        assert client.get(f"/flows/name/{name}").status_code == 404


SOCKETS = ("/events/in", "/events/out", "/logs/out", "/task_runs/subscriptions/scheduled")


@attack
@pytest.mark.parametrize("token", [None, "", "swarm:", "another:server", "x" * 49])
@pytest.mark.parametrize("path", SOCKETS)
def test_a_websocket_needs_the_login(server: GuardedServer, path: str, token: str | None) -> None:
    assert not server.follow(path, token)


@attack
@pytest.mark.parametrize("path", SOCKETS)
def test_a_websocket_is_no_page_s_and_no_other_name_s(server: GuardedServer, path: str) -> None:
    assert server.follow(path, server.login)
    assert not server.follow(path, server.login, origin="https://attacker.example")
    assert not server.follow(path, server.login, origin="null")
    assert not server.follow(path, server.login, host="attacker.example")
    assert not server.follow(path, server.login, protocols=())


def own_client(server: GuardedServer) -> httpx.Client:
    headers = {"Authorization": server.authorization}
    return httpx.Client(base_url=server.url, headers=headers, timeout=30)


def paused_run(client: httpx.Client) -> UUID:
    """A flow run that waits for a person, with a form."""
    flow = client.post("/flows/", json={"name": f"waits-{uuid4().hex[:8]}"}).json()["id"]
    state = {"type": "PENDING"}
    run = client.post("/flow_runs/", json={"flow_id": flow, "state": state}).json()["id"]
    for each in (
        {"type": "RUNNING"},
        {
            "type": "PAUSED",
            "name": "Paused",
            "state_details": {
                "pause_key": "k",
                "run_input_keyset": {"schema": "paused-k-schema", "response": "paused-k-response"},
            },
        },
    ):
        client.post(f"/flow_runs/{run}/set_state", json={"state": each}).raise_for_status()
    schema = {"key": "paused-k-schema", "value": "{}"}
    client.post(f"/flow_runs/{run}/input", json=schema).raise_for_status()
    return UUID(run)


@attack
@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("Origin", "https://attacker.example"), ("Content-Type", "text/plain")],
        [("Authorization", "Basic Og=="), ("Content-Type", "application/json")],
    ],
    ids=["a local user", "a web page", "an empty login"],
)
def test_a_client_without_the_login_approves_nothing(
    server: GuardedServer, headers: list[tuple[str, str]]
) -> None:
    with own_client(server) as client:
        run = paused_run(client)
        answer = json.dumps({"run_input": {"decision_plan": "approve"}})
        way, here = f"/api/flow_runs/{run}/resume", host_of(server, "127.0.0.1:PORT")
        assert server.ask(way, here, *headers, method="POST", body=answer)[0] in (401, 403)
        forged = json.dumps({"key": "paused-k-response", "value": answer})
        way = f"/api/flow_runs/{run}/input"
        assert server.ask(way, here, *headers, method="POST", body=forged)[0] in (401, 403)
        assert client.get(f"/flow_runs/{run}").json()["state"]["type"] == "PAUSED"
        assert client.get(f"/flow_runs/{run}/input/paused-k-response").status_code == 404


@attack
def test_no_other_program_can_listen_in_its_place_while_it_starts(server: GuardedServer) -> None:
    assert not server.taken


def test_the_login_is_long_and_its_own(server: GuardedServer) -> None:
    assert server.login.startswith("swarm:")
    assert len(server.login) >= 40


@attack
def test_the_login_is_on_no_command_line(server: GuardedServer) -> None:
    for process in server.processes:
        line = Path(f"/proc/{process}/cmdline").read_bytes().decode()
        assert "python" in line
        assert server.login.partition(":")[2] not in line


@attack
def test_the_login_is_in_no_file(server: GuardedServer) -> None:
    files = [path for path in server.folder.rglob("*") if path.is_file()]
    assert any(path.name == "server.log" for path in files)
    forms = (server.login.partition(":")[2], server.authorization.partition(" ")[2])
    holding = [
        path.name for path in files if any(each.encode() in path.read_bytes() for each in forms)
    ]
    assert holding == []


@pytest.mark.parametrize(
    ("kind", "headers", "status"),
    [
        ("http", [HERE, RIGHT], None),
        ("http", [HERE], 401),
        ("http", [RIGHT], 403),
        ("http", [HERE, HERE, RIGHT], 403),
        ("http", [HERE, RIGHT, RIGHT], 401),
        ("http", [HERE, RIGHT, (b"origin", b"")], 403),
        ("http", [(b"host", b"\xff"), RIGHT], 403),
        ("websocket", [HERE], None),
        ("websocket", [HERE, (b"origin", b"null")], 403),
        ("websocket", [(b"host", b"a.example"), RIGHT], 403),
    ],
)
def test_what_may_be_answered_is_decided_by_the_headers_alone(
    kind: str, headers: list[tuple[bytes, bytes]], status: int | None
) -> None:
    refusal = refusal_of_request(kind, headers, LOGIN)
    assert (refusal and refusal.status) == status
