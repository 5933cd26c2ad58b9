"""The program that takes the pictures of the docs has them all, and what they show."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from uuid import UUID

import pytest
from docs_pages import ROOT
from flow_runs import pages
from pictures.batched import do_batch
from pictures.notified import make_notifying
from pictures.take import PICTURES
from prefect.client.orchestration import get_client
from prefect.events.actions import CallWebhook
from prefect.events.schemas.automations import Automation

BY_HAND = {"form", "form-older"}
"""The program doesn't take these."""


def test_each_picture_of_the_docs_is_taken() -> None:
    texts = [path.read_text("utf-8") for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"))]
    shown = {name for text in texts for name in re.findall(r"images/([\w-]+)\.png", text)}
    assert shown - BY_HAND <= {picture.name for picture in PICTURES}


@pytest.mark.usefixtures("prefect_server", "swarm_home")
def test_the_batch_has_lines_that_ended_and_lines_that_went_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = pages(do_batch(tmp_path / "batch"))["swarm-batch"]
    assert "# batch objectives.jsonl" in page
    assert "**6 of 6 lines: 3 completed, 3 failed.**" in page


@pytest.mark.usefixtures("prefect_server")
def test_the_automation_calls_a_webhook() -> None:
    async def made() -> Automation | None:
        identity = await make_notifying()
        async with get_client() as client:
            return await client.read_automation(UUID(identity))

    automation = asyncio.run(made())
    assert automation is not None
    assert automation.name == "notify-swarm-approvals"
    assert [type(action) for action in automation.actions] == [CallWebhook]
