"""Ready automations: as a file for Prefect, or made on its server."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple
from uuid import UUID

import yaml
from prefect.client.orchestration import PrefectClient
from prefect.events.schemas.automations import AutomationCore
from prefect.exceptions import ObjectNotFound

from ..errors import InputError
from .prefect_io.server_client import client_of_server

__all__ = [
    "RETRY",
    "MadeAutomation",
    "NotifyBlock",
    "automation_file",
    "automations_for",
    "find_targets",
    "make_automations",
    "ready_automations",
]

RETRY = "swarm-retry/swarm-retry"
_NOTIFY, _RETRY = "notify", "retry"
_BODY = (
    '{"event": {{ event.event|tojson }}, "flow_run": {{ event.resource.name|tojson }}, '
    '"payload": {{ event.payload|tojson }}, "text": %s}'
)


class NotifyBlock(NamedTuple):
    """A block that somebody is told by.

    Attributes:
        id: Of its document.
        is_webhook: Whether it is called with JSON; else it notifies.
    """

    id: UUID
    is_webhook: bool


class MadeAutomation(NamedTuple):
    """What became of an automation."""

    name: str
    was: Literal["made", "renewed"]


def ready_automations() -> list[dict[str, Any]]:
    """Return the automations of the package, with `notify` and `retry` where targets belong."""
    text = Path(__file__).with_name("automations.yaml").read_text("utf-8")
    # Anchors in the file are one object for the parser.
    return json.loads(json.dumps(yaml.safe_load(text)["automations"]))


def automations_for(
    wanted: Sequence[str], notify: NotifyBlock | None, retry: UUID | None, failures: int = 10
) -> list[dict[str, Any]]:
    """Return automations as Prefect has them. Pure.

    Args:
        wanted: Their names; of none, all that the targets allow.
        notify: What tells people; without it, those that do are left out.
        retry: The deployment that retries; without it, that automation is left out.
        failures: How often a gate fails within an hour before somebody is told.

    Raises:
        InputError: One is named that there is not, or that lacks its target.
    """
    ready = ready_automations()
    names = [each["name"] for each in ready]
    if unknown := [name for name in wanted if name not in names]:
        raise InputError(
            f"There is no ready automation {unknown[0]!r}.", f"There are {', '.join(names)}."
        )
    made: list[dict[str, Any]] = []
    for each in ready:
        if wanted and each["name"] not in wanted:
            continue
        kinds = {action["type"] for action in each["actions"]}
        lacks = (_NOTIFY in kinds and notify is None) or (_RETRY in kinds and retry is None)
        if lacks and wanted:
            fix = "Give --notify SLUG/NAME." if _NOTIFY in kinds else f"Deploy {RETRY} first."
            raise InputError(f"The automation {each['name']} lacks its target.", fix)
        if lacks:
            continue
        if each["trigger"].get("for_each") == ["swarm.gate"]:
            each["trigger"]["threshold"] = failures
        each["actions"] = [_action(action, notify, retry) for action in each["actions"]]
        made.append(each)
    return made


def _action(
    action: Mapping[str, Any], notify: NotifyBlock | None, retry: UUID | None
) -> dict[str, Any]:
    if action["type"] == _RETRY:
        return {
            "type": "run-deployment",
            "source": "selected",
            "deployment_id": str(retry),
            "parameters": {"run": "{{ event.payload.run }}"},
        }
    if action["type"] != _NOTIFY or notify is None:
        return dict(action)
    block = {"block_document_id": str(notify.id)}
    subject, body = action["subject"], action["body"].strip()
    if not notify.is_webhook:
        return {"type": "send-notification", **block, "subject": subject, "body": body}
    # One template makes the text, and another puts it into the JSON.
    text = "{% set text %}" + f"{subject}\n{body}" + "{% endset %}"
    return {"type": "call-webhook", **block, "payload": text + _BODY % "{{ text|string|tojson }}"}


def automation_file(automations: Sequence[Mapping[str, Any]]) -> str:
    """Return the YAML that `prefect automation create --from-file` takes."""
    return yaml.safe_dump(
        {"automations": [*automations]}, sort_keys=False, allow_unicode=True, width=100
    )


async def find_targets(notify: str | None) -> tuple[NotifyBlock | None, UUID | None]:
    """Return the block that tells people, and the deployment that retries, if there is one.

    Args:
        notify: A block document, as SLUG/NAME; None for none.

    Raises:
        InputError: There is no such block, or it can't tell anybody.
        ServerError: The server can't be asked.
    """
    async with client_of_server() as client:
        block = None if notify is None else await _block(client, notify)
        try:
            retry = (await client.read_deployment_by_name(RETRY)).id
        except ObjectNotFound:
            retry = None
    return block, retry


async def _block(client: PrefectClient, reference: str) -> NotifyBlock:
    slug, slash, name = reference.partition("/")
    if not slash or not name:
        raise InputError(
            f"{reference!r} names no block.", "Write SLUG/NAME: slack-webhook/ops, or webhook/ops."
        )
    try:
        document = await client.read_block_document_by_name(name, slug, include_secrets=False)
    except ObjectNotFound:
        raise InputError(
            f"The server has no block {reference}.", "Make it in the UI: Blocks. Or correct it."
        ) from None
    schema = document.block_schema
    capabilities = schema.capabilities if schema is not None else []
    if slug != "webhook" and "notify" not in capabilities:
        raise InputError(
            f"The block {reference} tells nobody: it is neither a webhook nor a notification.",
            "Name another: slack-webhook/NAME, sendgrid-email/NAME, webhook/NAME.",
        )
    return NotifyBlock(document.id, slug == "webhook")


async def make_automations(automations: Sequence[Mapping[str, Any]]) -> tuple[MadeAutomation, ...]:
    """Make automations on the server, in place of those that have their names.

    Raises:
        ServerError: The server can't be asked.
    """
    found: list[MadeAutomation] = []
    async with client_of_server() as client:
        for each in automations:
            core = AutomationCore.model_validate(each)
            if there := await client.read_automations_by_name(core.name):
                await client.update_automation(there[0].id, core)
            else:
                await client.create_automation(core)
            found.append(MadeAutomation(core.name, "renewed" if there else "made"))
    return tuple(found)
