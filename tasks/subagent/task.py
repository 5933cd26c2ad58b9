"""Run one attempt of one subagent as a Prefect task run."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import Any

from prefect import task
from prefect.cache_policies import CacheKeyFnPolicy
from prefect.context import TaskRunContext
from prefect.states import Cancelled
from prefect.transactions import get_transaction
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse
from pydantic_ai.models import Model

from ...errors import (
    ApprovalNeededError,
    Category,
    EarlyAbortError,
    EmptyOutputError,
    RefusedError,
    StepTimeoutError,
    SwarmError,
    TruncatedError,
    UnavailableError,
    UnmadeCallError,
)
from ...metrics.clock import run_time
from ...models.answers.call_text import calls_in_json
from ...models.answers.usage import REASONED, UNMADE_CALL, note
from ...models.request_context import Timer, timed
from ...models.resolve import local_model, resolve_model
from ...plan.call import PlannedCall
from ...plan.ids import steps_above
from ...quoting import uncopied
from ...store.attempt import Usage
from ...store.runs import open_run
from ...text import visible
from ...toolsets.shown import bare
from ...toolsets.workspace import patch_of
from ...workspace.repository import PatchTooLargeError
from ..context import current_task, unless_won
from ..task_runs import agent_span, failed_result, note_answer, tag_task_run, usage_of
from .answer import Extraction, extract, joined, refuses, resume_point
from .asking import ask, own_errors, queue_s_of, settings_of, waits_of
from .calling import call_loop, made_call
from .request import SubagentRequest, SubagentResult, UnansweredError, omissions_of, prompt_of
from .stored_answer import stored_answer
from .tool_loop import ToolLoop

__all__ = ["WAITING", "answer", "subagent"]

WAITING = "Waiting for a person"
"""The state's name of an attempt that goes on once a person has decided."""
_CHANGES = "changes of the workspace"
_REFUSED_FIX = "Ask differently, or use another model."


def _key(_: TaskRunContext, parameters: dict[str, Any]) -> str:
    return SubagentRequest.model_validate(parameters["request"]).cache_key()


@task(
    name="subagent",
    task_run_name="{name}",
    cache_policy=CacheKeyFnPolicy(cache_key_fn=_key),
    persist_result=True,
    result_serializer="json",
)
async def subagent(request: dict[str, Any], name: str) -> Any:  # noqa: ARG001 - the run's name
    """Answer a request; a failure is a Failed state that carries the result all the same.

    The result is kept under the request's key even then, so that a resumed run takes the same
    decisions without asking the model again; only what a provider didn't answer is asked again.
    Prefect repeats nothing: the provider's limiter does.
    """
    asked = SubagentRequest.model_validate(request)
    # With the steps that it is a member of, so that a filter on S2 finds S2[7].
    steps = (asked.step, *steps_above(asked.step))
    tag_task_run(f"agent: {asked.agent}", f"tier: {asked.tier}", *steps)
    with agent_span(asked) as span:
        try:
            result = await unless_won(_answer(asked))
        except ApprovalNeededError as error:
            _keep_nothing()
            return Cancelled(name=WAITING, message=visible(str(error)))
        note_answer(span, result)
    if result is None:
        return Cancelled(message="Another candidate passed first.")
    if result.category is Category.UNAVAILABLE:
        raise UnansweredError(result)
    content = result.model_dump(mode="json")
    if result.category is None:
        return content
    return await failed_result(f"{result.category}: {result.error}", content)


async def _answer(request: SubagentRequest) -> SubagentResult:
    context = current_task()
    # Whoever cancels this cancels what was asked before.
    if (prestarted := context.prestarted.get(request.content_hash())) is not None:
        return await prestarted
    if context.resumed:
        run = open_run(request.run)
        stored = await asyncio.to_thread(stored_answer, run, request.cache_key())
        if stored is not None:
            context.budget.taken = stored.taken
            return stored.result
    return await (context.executor.answer(request) if context.executor else answer(request))


def _keep_nothing() -> None:
    """Have Prefect keep no result of this task run, or it would be found when it is run again."""
    if (transaction := get_transaction()) is not None:
        transaction.write_on_commit = False


async def answer(request: SubagentRequest) -> SubagentResult:
    """Ask the request's model, within its time, or make the call that it is.

    Waits for a provider don't count. Whatever goes wrong is in the result.
    """
    return await (_called(request, request.call) if request.call else _asked(request))


async def _asked(request: SubagentRequest) -> SubagentResult:
    started = run_time()
    model = await resolve_model(request.model, request.tier)
    if request.begun and local_model(model) is None:
        begun = resume_point(request.begun, request.output)
        request = request.model_copy(update={"begun": begun})
    timer = Timer()
    try:
        loop = _tool_loop(model, request) if request.tools else None
    except SwarmError as error:
        return await _failed(model, started, timer, error, request=request, loop=None)
    failed = partial(_failed, model, started, request=request, loop=loop)
    try:
        async with timed(request.timeout_s, timer):
            if loop is None:
                conversation, response = await ask(model, request)
            else:
                with own_errors(model, request):
                    response = await loop.run()
                conversation = loop.messages[:-1]
    except TimeoutError:
        error = StepTimeoutError(
            f"{request.step} was not answered within {request.timeout_s:g} s "
            f"by {model.model_name}.",
            "Raise its timeout_s, or use a faster model.",
        )
        return await failed(timer, error)
    except ApprovalNeededError:
        raise
    except SwarmError as error:
        return await failed(timer, error)
    usage = loop.usage if loop else usage_of([response])
    if loop is None:
        # Counted before it is stored: what was answered is paid for, wherever it ends up.
        current_task().budget.taken = usage
    await _store(request, [*conversation, response])
    text = response.text or ""
    whole = joined(request.begun, text) if request.begun else text.lstrip()
    whole = uncopied(whole, prompt_of(request))
    reasoning = note(response, REASONED)
    extraction = extract(whole.strip(), request.output, reasoning=reasoning)
    extraction = await _changed(loop, request, extraction)
    result = SubagentResult(
        text=extraction.artifact,
        extraction=extraction.rule,
        model=response.model_name or model.model_name,
        started_at=started,
        ended_at=run_time(),
        queue_s=timer.waited_s + queue_s_of([*conversation, response], started),
        waits=waits_of([*conversation, response], timer.waits, started),
        usage=usage,
        left_out=(*request.summarised, *omissions_of(request)),
        calls=loop.calls if loop else (),
        compactions=loop.compactions if loop else (),
    )
    error = _problem(model, request, response, text, whole)
    # What it did counts, and gates look at it; what it says of that doesn't.
    if error is None or result.extraction == _CHANGES:
        return result
    saved = error.saved if isinstance(error, EarlyAbortError) else 0
    changes = {"category": error.category, "error": str(error), "tokens_saved": saved}
    if isinstance(error, TruncatedError):
        # Whatever goes on from here needs all of it as it was written.
        changes |= {"text": whole, "extraction": "whole text, cut off"}
    return result.model_copy(update=changes)


async def _called(request: SubagentRequest, call: PlannedCall) -> SubagentResult:
    """Make the call that a request is; its model is none, and it takes nothing."""
    started, loop = run_time(), call_loop(request, call)
    text, failed = "", None
    try:
        async with asyncio.timeout(request.timeout_s):
            with own_errors(loop.model, request):
                text = await made_call(loop, call)
    except TimeoutError:
        failed = StepTimeoutError(
            f"{request.step} was not over within {request.timeout_s:g} s.", "Raise its timeout_s."
        )
    except ApprovalNeededError:
        raise
    except SwarmError as error:
        failed = error
    await _store(request, loop.messages)
    return SubagentResult(
        text=text,
        extraction="call",
        model="",
        started_at=started,
        ended_at=run_time(),
        calls=loop.calls,
        category=failed.category if failed else None,
        error=str(failed) if failed else "",
    )


async def _changed(
    loop: ToolLoop | None, request: SubagentRequest, written: Extraction
) -> Extraction:
    """Return what was written; in its place the patch that the calls of tools came to, if any."""
    if loop is None or request.output != "patch":
        return written
    try:
        patch = await asyncio.to_thread(patch_of, loop.use)
    except PatchTooLargeError as error:
        return Extraction("", f"no patch: {error.problem}")
    if patch:
        return Extraction(patch, _CHANGES)
    is_patch = written.artifact.lstrip().startswith(("diff ", "--- "))
    return written if is_patch else Extraction("", "no change of the workspace")


def _tool_loop(model: Model, request: SubagentRequest) -> ToolLoop:
    settings = settings_of(request, is_local=local_model(model) is not None)
    return ToolLoop(model, request, settings)


def _problem(
    model: Model, request: SubagentRequest, response: ModelResponse, text: str, whole: str
) -> SwarmError | None:
    """Say what is wrong with an answer; None if nothing is, as far as the answer itself shows."""
    details = response.provider_details or {}
    if why := details.get("aborted"):
        limit = request.max_output_tokens or response.usage.output_tokens
        return EarlyAbortError(
            f"{model.model_name} was stopped: it wrote {why}.",
            "Ask differently, or use another model.",
            max(0, limit - response.usage.output_tokens),
        )
    if response.finish_reason == "content_filter":
        words = details.get("refusal") or "the answer was filtered"
        return RefusedError(f"{model.model_name} refused {request.step}: {words}", _REFUSED_FIX)
    if response.finish_reason == "length" and text.strip():
        tokens = response.usage.output_tokens
        return TruncatedError(
            f"{model.model_name}'s answer to {request.step} was cut off after {tokens:,} tokens.",
            "Raise max_output_tokens, or ask for less.",
        )
    if not text.strip():
        if request.begun and response.finish_reason == "stop" and local_model(model) is not None:
            return None  # A model file that ends where it was cut off has said all.
        return EmptyOutputError(
            f"{model.model_name} answered {request.step} with nothing"
            + (" within its tokens." if response.finish_reason == "length" else "."),
            "Ask differently, or use another model.",
        )
    if why := _unmade_call(request, response):
        return UnmadeCallError(
            f"{model.model_name} answered {request.step} with the call of a tool as text: {why}.",
            "Call tools as the provider's API has it, by a name that is offered, or answer.",
        )
    if refuses(text.strip()) or refuses(whole.strip()):
        return RefusedError(
            f"{model.model_name} refused {request.step}: {text.strip()}", _REFUSED_FIX
        )
    return None


def _unmade_call(request: SubagentRequest, response: ModelResponse) -> str:
    """Say why an answer is a call of a tool that wasn't made; "" if it is none.

    An object is what was asked for where that is JSON, whatever it looks like.
    """
    if not request.tools:
        return ""
    if (why := note(response, UNMADE_CALL)) or request.output == "json":
        return why
    calls = calls_in_json(response.text or "") or ()
    names = ", ".join(call.name[:60] for call in calls if call.args is not None)
    return f"no tool takes that call of {names}" if names else ""


async def _store(request: SubagentRequest, messages: list[ModelMessage]) -> None:
    text = json.dumps(bare(ModelMessagesTypeAdapter.dump_python(messages, mode="json")))
    await asyncio.to_thread(open_run(request.run).write_transcript, request.name, text)


async def _failed(
    model: Model,
    started: float,
    timer: Timer,
    error: SwarmError,
    *,
    request: SubagentRequest,
    loop: ToolLoop | None,
) -> SubagentResult:
    was_asked = error.category is not Category.BUDGET and not isinstance(error, UnavailableError)
    messages = loop.messages if loop else ()
    if loop is not None:
        await _store(request, loop.messages)
    return SubagentResult(
        model=model.model_name,
        started_at=started,
        ended_at=run_time(),
        queue_s=timer.waited_s + queue_s_of(messages, started),
        waits=waits_of(messages, timer.waits, started),
        usage=(Usage(requests=1) if was_asked else Usage()) + (loop.usage if loop else Usage()),
        calls=loop.calls if loop else (),
        compactions=loop.compactions if loop else (),
        category=error.category,
        error=str(error),
        tokens_saved=error.saved if isinstance(error, EarlyAbortError) else 0,
        timeout_s=request.timeout_s,
    )
