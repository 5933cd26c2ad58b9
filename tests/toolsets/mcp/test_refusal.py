"""A refusal is told with its status, the server's words, and what to do."""

from __future__ import annotations

import pytest
from prefect_swarm.toolsets.mcp.address import refusal_text

LOGIN = "`prefect-swarm doctor --mcp FILE --login`"


@pytest.mark.parametrize(
    ("status", "challenge", "body", "sent", "text"),
    [
        (
            401,
            'Bearer error="invalid_token", error_description="The token is old"',
            "",
            "header",
            "it answered 401 Unauthorized: The token is old. "
            "It doesn't take the token of its Authorization header: renew that",
        ),
        (
            401,
            "",
            '{"jsonrpc": "2.0", "error": {"code": -1, "message": "Who are you?"}}',
            "none",
            "it answered 401 Unauthorized: Who are you? It needs a token, such as "
            '"Bearer ${TOKEN}" in the header Authorization, or a login by OAuth: ' + LOGIN,
        ),
        (
            403,
            'Bearer error="insufficient_scope", scope="notes:write"',
            "<html><title>No</title><style>b {}</style><b>No entry</b></html>",
            "login",
            "it answered 403 Forbidden: No No entry. What it was sent doesn't allow this: "
            "it needs a token with the scope notes:write that does",
        ),
        (
            403,
            "",
            "",
            "none",
            "it answered 403 Forbidden. It may need a token in its headers, or a login by OAuth: "
            + LOGIN,
        ),
        (
            404,
            "",
            "Not Found",
            "none",
            "it answered 404 Not Found: Not Found. "
            'If it is an older server that speaks SSE, write "type": "sse"',
        ),
        (
            401,
            'Basic realm="x", Bearer error=invalid_token, scope="a"',
            '{"errors": [{"message": "bad key"}]}',
            "login",
            "it answered 401 Unauthorized: bad key. "
            f"The stored login counts no more: log in again with {LOGIN}",
        ),
        (
            403,
            "Bearer error=invalid_token",
            "",
            "header",
            "it answered 403 Forbidden: "
            "invalid_token. What it was sent doesn't allow this: it needs a token that does",
        ),
        (503, "", '{"detail": "busy."}', "none", "it answered 503 Service Unavailable: busy"),
        (599, "", "[" * 100_000, "none", "it answered 599: " + "[" * 199 + "…"),
    ],
)
def test_a_refusal_says_what_to_do(
    status: int, challenge: str, body: str, sent: str, text: str
) -> None:
    headers = {"www-authenticate": challenge} if challenge else {}
    assert refusal_text(status, headers, body, sent) == text


@pytest.mark.parametrize("status", [400, 404, 405])
def test_a_server_that_does_not_speak_sse_is_not_said_to(status: int) -> None:
    text = refusal_text(status, {}, "", "none", over_sse=True)
    assert text.endswith(
        'If it is a newer server that speaks streamable HTTP, write "type": "http"'
    )
