"""Run one attempt of one subagent as a Prefect task run."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from prefect import task
from prefect.cache_policies import CacheKeyFnPolicy
from prefect.client.schemas.objects import State, TaskRun
from prefect.context import TaskRunContext
from prefect.runtime import task_run
from prefect.states import Cancelled, Failed
from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelRateLimitError,
    ModelRequestTimeout,
    ModelServerError,
    ModelUnavailableError,
    UnexpectedModelBehavior,
)
from pydantic_ai.messages import (
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    UserPromptPart,
)
from pydantic_ai.models import Model

from ...blocks.models import resolve_model
from ...errors import (
    Category,
    ContextTooSmallError,
    EarlyAbortError,
    EmptyOutputError,
    ModelError,
    StepTimeoutError,
    SwarmError,
)
from ...result import Usage
from ...runs import RunFolder
from ..race import run_in_race
from ..tags import tag_task_run
from ..usage import usage_of
from .extraction import extract
from .model_settings import settings_of
from .request import SubagentRequest, SubagentResult, prompt_of

__all__ = ["TRANSPORT_ERRORS", "answer", "retry_transport", "subagent"]

TRANSPORT_ERRORS = (
    ModelConnectionError,
    ModelRateLimitError,
    ModelRequestTimeout,
    ModelServerError,
    ModelUnavailableError,
)
"""What another try of the very same call may fix; everything else is the router's to decide."""
_RETRIES = 2


def _key(_: TaskRunContext, parameters: dict[str, Any]) -> str:
    return SubagentRequest.model_validate(parameters["request"]).cache_key()


async def retry_transport(_task: object, _run: TaskRun, state: State[Any]) -> bool:
    """Tell Prefect to retry natively only after a transport error."""
    try:
        await state.result()
    except Exception as error:  # noqa: BLE001 - looked at, not handled
        return any(isinstance(cause, TRANSPORT_ERRORS) for cause in (error, error.__cause__))
    return False


@task(
    name="subagent",
    task_run_name="{name}",
    cache_policy=CacheKeyFnPolicy(cache_key_fn=_key),
    persist_result=True,
    result_serializer="json",
    retries=_RETRIES,
    retry_delay_seconds=[1, 4],
    retry_condition_fn=retry_transport,
)
async def subagent(request: dict[str, Any], name: str) -> Any:  # noqa: ARG001 - the run's name
    """Answer a request; a failure is a Failed state that carries the result all the same.

    The result is kept under the request's key even then, so that a resumed run takes the same
    decisions without asking the model again.
    """
    asked = SubagentRequest.model_validate(request)
    tag_task_run(f"agent: {asked.agent}", f"tier: {asked.tier}", asked.step)
    started = time.time()
    try:
        # `flows/attempt.py` opened the race, if any, in this process; it is found by its name.
        result = await run_in_race(asked.race, answer(asked))
    except TRANSPORT_ERRORS as error:
        if task_run.run_count <= _RETRIES:
            raise
        result = SubagentResult(
            model=asked.model,
            started_at=started,
            ended_at=time.time(),
            usage=Usage(requests=task_run.run_count),
            category=Category.INFRASTRUCTURE,
            error=str(error),
        )
    if result is None:
        return Cancelled(message="Another candidate passed first.")
    content = result.model_dump(mode="json")
    if result.category is None:
        return content
    return Failed(message=f"{result.category}: {result.error}", data=content)


async def answer(request: SubagentRequest) -> SubagentResult:
    """Ask the request's model, within its time.

    Raises:
        Exception: A transport error, for Prefect to retry. Every other failure is in the result.
    """
    started = time.time()
    model = await resolve_model(request.model, request.tier)
    try:
        async with asyncio.timeout(request.timeout_s):
            prompt, response = await _ask(model, request)
    except TimeoutError:
        error = StepTimeoutError(
            f"{request.step} was not answered within {request.timeout_s:g} s "
            f"by {model.model_name}.",
            "Raise its timeout_s, or use a faster model.",
        )
        return _failed(model, started, error, request.timeout_s)
    except SwarmError as error:
        return _failed(model, started, error, request.timeout_s)
    RunFolder.of(request.run).write(
        f"transcripts/{request.name}.json",
        ModelMessagesTypeAdapter.dump_json([prompt, response]).decode(),
    )
    extraction = extract((response.text or "").strip(), request.output)
    result = SubagentResult(
        text=extraction.artifact,
        extraction=extraction.rule,
        model=model.model_name,
        started_at=started,
        ended_at=time.time(),
        queue_s=_queue_s(response),
        usage=usage_of([response]),
    )
    if why := (response.provider_details or {}).get("aborted"):
        stopped = EarlyAbortError(
            f"{model.model_name} was stopped: it wrote {why}.",
            "Ask differently, or use another model.",
            request.max_output_tokens - response.usage.output_tokens,
        )
        return _with(result, stopped, tokens_saved=stopped.saved)
    if result.text.strip():
        return result
    nothing = EmptyOutputError(
        f"{model.model_name} answered {request.step} with nothing.",
        "Ask differently, or use another model.",
    )
    return _with(result, nothing)


def _with(result: SubagentResult, error: SwarmError, **more: Any) -> SubagentResult:
    return result.model_copy(update={"category": error.category, "error": str(error), **more})


async def _ask(model: Model, request: SubagentRequest) -> tuple[ModelRequest, ModelResponse]:
    """Ask once, as a pydantic-ai agent does that has no tools and no typed output.

    An `Agent` would send the same request, for 3 ms of CPU more: half a Prefect task run.
    """
    prompt = ModelRequest(
        parts=[UserPromptPart(prompt_of(request))], instructions=request.instructions
    )
    try:
        response = await model_request(model, [prompt], model_settings=settings_of(request))
    except ModelContextWindowExceededError as error:
        raise ContextTooSmallError(
            f"The prompt of {request.step} does not fit {model.model_name}: {error}",
            "Lower max_input_chars, or use a model with a larger context.",
        ) from error
    except TRANSPORT_ERRORS:
        raise
    except ModelAPIError as error:
        raise ModelError(
            f"{model.model_name} refused the request for {request.step}: {error}.",
            "Check the model's name, its key and its settings.",
        ) from error
    except UnexpectedModelBehavior as error:
        raise EmptyOutputError(
            f"{model.model_name} gave {request.step} no usable answer: {error}",
            "Ask differently, or use another model.",
        ) from error
    return prompt, response


def _queue_s(response: ModelResponse) -> float:
    return float((response.provider_details or {}).get("queue_s") or 0.0)


def _failed(model: Model, started: float, error: SwarmError, limit: float) -> SubagentResult:
    return SubagentResult(
        model=model.model_name,
        started_at=started,
        ended_at=time.time(),
        usage=Usage(requests=1) if error.category is not Category.BUDGET else Usage(),
        category=error.category,
        error=str(error),
        tokens_saved=error.saved if isinstance(error, EarlyAbortError) else 0,
        timeout_s=limit,
    )
