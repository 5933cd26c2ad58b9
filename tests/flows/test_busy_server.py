"""Requests that a server may accept later are repeated; those refused without a login are not."""

from __future__ import annotations

import httpx
import pytest
from prefect.exceptions import PrefectHTTPStatusError
from prefect_swarm.errors import ServerError
from prefect_swarm.flows.batch_run import is_passing
from prefect_swarm.flows.prefect_io.schema_flow import refused_in_short

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def answered(status: int) -> PrefectHTTPStatusError:
    request = httpx.Request("POST", "http://127.0.0.1:4200/api/flow_runs/")
    response = httpx.Response(status, json={"detail": "no"}, request=request)
    try:
        response.raise_for_status()
    except httpx.HTTPStatusError as error:
        return PrefectHTTPStatusError.from_httpx_error(error)
    raise AssertionError("it is not an error")


@pytest.mark.parametrize("status", [401, 403])
async def test_a_missing_login_is_an_error_of_ours_at_once(status: int) -> None:
    async def create() -> None:
        raise answered(status)

    with pytest.raises(ServerError, match=rf"\({status}\) for POST /api/flow_runs/") as failure:
        await refused_in_short(create())
    assert not is_passing(failure.value)


@pytest.mark.parametrize("status", [429, 503])
async def test_a_busy_server_stays_what_it_is(status: int) -> None:
    async def create() -> None:
        raise answered(status)

    with pytest.raises(PrefectHTTPStatusError) as failure:
        await refused_in_short(create())
    assert is_passing(failure.value)
