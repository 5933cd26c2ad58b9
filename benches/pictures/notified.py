"""The automation that the pictures show. As a program it is made, and its id is printed."""

from __future__ import annotations

import asyncio
from typing import Any

from prefect.blocks.webhook import Webhook
from prefect.client.orchestration import get_client
from prefect_swarm.flows.automations import automations_for, find_targets, make_automations
from pydantic import SecretStr

__all__ = ["make_notifying"]

_NAME = "notify-swarm-approvals"
_ADDRESS = "http://127.0.0.1:8766/"


async def make_notifying() -> str:
    """Make the automation that tells of approvals, as the tutorial does; return its id."""
    block: Any = Webhook(url=SecretStr(_ADDRESS), allow_private_urls=True)
    await block.save("told", overwrite=True)
    notify, retry = await find_targets("webhook/told")
    await make_automations(automations_for([_NAME], notify, retry))
    async with get_client() as client:
        (made,) = await client.read_automations_by_name(_NAME)
    return str(made.id)


if __name__ == "__main__":
    print(asyncio.run(make_notifying()))
