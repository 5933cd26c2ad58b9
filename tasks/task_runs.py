"""Task runs: a failure that has a result, tags, and spans."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any

from opentelemetry.trace import Span
from prefect import State
from prefect.context import FlowRunContext, TaskRunContext
from prefect.states import Failed
from prefect.transactions import get_transaction
from pydantic_ai.messages import ModelMessage, ModelResponse

from ..gates import GateResult, format_diagnostics
from ..models.answers.usage import ESTIMATED
from ..models.remote import REQUESTS
from ..store.attempt import Usage
from ..text import visible
from ..tracing import Attributes, fail, is_traced, span
from .subagent.request import SubagentRequest, SubagentResult

__all__ = [
    "agent_span",
    "failed_result",
    "gate_span",
    "note_answer",
    "note_verdict",
    "plan_span",
    "tag_task_run",
    "usage_of",
]


async def failed_result(message: str, content: dict[str, Any]) -> State[Any]:
    """Return a Failed state with a result that is stored under the task run's cache key.

    Of itself Prefect stores under a key only what a Completed task run came to.
    """
    transaction = get_transaction()
    if transaction is not None and transaction.store is not None and transaction.key:
        await transaction.store.awrite(key=transaction.key, obj=content)
    return Failed(message=visible(message), data=content)


def tag_task_run(*tags: str) -> None:
    """Tag the task run this is called in; does nothing outside one.

    Tags that a task run starts with are asked for as concurrency limits: a request to the server
    for each run, and a client in a thread for each distinct set, before the task may begin. These
    are sent with the run's end, and cost nothing. What bounds a tier is `tier_concurrency`.
    """
    context = TaskRunContext.get()
    if context is not None:
        context.task_run.tags = sorted({*context.task_run.tags, "swarm", *map(visible, tags)})


@contextmanager
def plan_span(tier: str) -> Generator[None]:
    """Put a span around the writing of a plan, by the model of a tier."""
    with _task_span("plan", {"prefect_swarm.tier": tier}):
        yield


@contextmanager
def agent_span(request: SubagentRequest) -> Generator[Span]:
    """Put a span around what an agent does with a request."""
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": request.agent,
        "prefect_swarm.step.id": request.step,
        "prefect_swarm.attempt.number": request.attempt,
        "prefect_swarm.tier": request.tier,
        "prefect_swarm.sample": request.sample or None,
    }
    with _task_span(f"invoke_agent {request.agent}", attributes) as current:
        yield current


def note_answer(current: Span, result: SubagentResult | None) -> None:
    """Say in an agent's span how it ended; None is a race that another sample has won."""
    if result is None:
        current.set_attribute("prefect_swarm.outcome", "cancelled")
        return
    current.set_attribute("gen_ai.response.model", result.model)
    if result.category is None:
        current.set_attribute("prefect_swarm.outcome", "succeeded")
    else:
        current.set_attribute("prefect_swarm.outcome", "failed")
        fail(current, str(result.category), result.error)


@contextmanager
def gate_span(name: str, *, required: bool) -> Generator[Span]:
    """Put a span around what a gate does with an artifact."""
    attributes = {"prefect_swarm.gate.name": name, "prefect_swarm.gate.required": required}
    with _task_span(f"gate {name}", attributes) as current:
        yield current


def note_verdict(current: Span, result: GateResult) -> None:
    """Say in a gate's span what it found."""
    current.set_attribute("prefect_swarm.outcome", result.status)
    current.set_attribute("prefect_swarm.gate.passed", result.status == "passed")
    current.set_attribute("prefect_swarm.gate.findings", len(result.diagnostics))
    current.set_attribute("prefect_swarm.gate.cached", result.cached)
    if result.stops:
        fail(current, str(result.category or result.status), format_diagnostics(result.diagnostics))


@contextmanager
def _task_span(name: str, attributes: Attributes) -> Generator[Span]:
    with span(name, {**attributes, **_ids()} if is_traced() else {}) as current:
        yield current


def _ids() -> Attributes:
    """Return the ids of the task run that is running, if any is, and of its flow run."""
    if (context := TaskRunContext.get()) is None:
        around = FlowRunContext.get()
        flow_run = around.flow_run if around else None
        return {"prefect.flow_run.id": str(flow_run.id)} if flow_run else {}
    flow_run_id = context.task_run.flow_run_id
    return {
        "prefect.task_run.id": str(context.task_run.id),
        "prefect.flow_run.id": str(flow_run_id) if flow_run_id else None,
    }


def usage_of(messages: Iterable[ModelMessage]) -> Usage:
    """Return what the answers among these messages took; the price where each one's is known."""
    answers = [message for message in messages if isinstance(message, ModelResponse)]
    return sum(map(_usage, answers), Usage())


def _usage(answer: ModelResponse) -> Usage:
    try:
        cost = float(answer.cost().total_price)
    except (LookupError, ValueError, AssertionError):
        cost = None
    return Usage(
        requests=(answer.provider_details or {}).get(REQUESTS, 1),
        input_tokens=answer.usage.input_tokens,
        output_tokens=answer.usage.output_tokens,
        cost_usd=cost,
        estimated=answer.usage.details.get(ESTIMATED, 0),
    )
