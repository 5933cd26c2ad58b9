"""Inputs that a step has no room for, summarised by the worker tier part by part."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from ...output import StepOutput
from ...quoting import Quote
from ...tasks.subagent.request import BYTES_PER_TOKEN, SubagentRequest, left_out_of, tokens_of
from ...tasks.subagent.task import subagent
from ..context import RunContext
from ..records import StepRecord
from ..task_run import result_in, run_task
from .limits import call_limits

__all__ = ["Summaries", "parts_of"]

_ROUNDS = 3
_WORDS_PER_TOKEN = 0.4
"""Words that a token has room for, as tokens are estimated: few, since texts have figures."""
_PART_TOKENS = 8000
"""Tokens of a part where the worker's model has no bound of its own."""
_INSTRUCTIONS = (
    "You shorten a part of a longer text for somebody who works on from it. Keep every fact, "
    "number, name and conclusion; leave out what is said twice and how it is said."
)


def parts_of(text: str, tokens: int) -> list[str]:
    """Divide a text at its paragraphs, lines or words into parts of about so many tokens.

    Nothing is left out: the parts joined are the text.
    """
    parts: list[str] = []
    while tokens_of(text) > tokens:
        size = max(1, int(tokens * BYTES_PER_TOKEN * len(text) / len(text.encode())))
        head = text[:size]
        ends = (head.rfind("\n\n") + 2, head.rfind("\n") + 1, head.rfind(" ") + 1)
        end = next((end for end in ends if end > size // 2), size)
        parts.append(text[:end])
        text = text[end:]
    return [*parts, text]


@dataclass(slots=True)
class Summaries:
    """Makes the summaries of a run; each text is summarised once to a length."""

    context: RunContext
    _made: dict[tuple[str, int], asyncio.Task[str]] = field(
        init=False, default_factory=dict[tuple[str, int], "asyncio.Task[str]"]
    )

    async def fitting(self, request: SubagentRequest, record: StepRecord) -> SubagentRequest:
        """Return the request, with summaries for the inputs that it has no room for.

        As it is where the policy cuts them.

        Raises:
            BudgetExceededError: The run can't afford a summary.
        """
        if self.context.options.policy.long_inputs == "cut":
            return request
        # Without their marks: a summary's room is part of its key, and runs began before there
        # were any.
        cut = left_out_of(request, marked=False)
        left_out = {part.name: part.of - part.tokens for part in cut}
        if not left_out:
            return request
        texts = await asyncio.gather(
            *(
                self._summary(text, left_out[text.name], request, record)
                for text in request.upstream
                if text.name in left_out
            )
        )
        whole = {text.name: text.text for text in request.upstream}
        read = {**whole, **dict(zip(left_out, texts, strict=True))}
        upstream = tuple(
            text.model_copy(update={"text": read[text.name]}) for text in request.upstream
        )
        summarised = tuple(
            part.model_copy(update={"summarised": True})
            for part in cut
            if read[part.name] != whole[part.name]
        )
        return request.model_copy(update={"upstream": upstream, "summarised": summarised})

    async def _summary(
        self, text: StepOutput, room: int, request: SubagentRequest, record: StepRecord
    ) -> str:
        key = (text.name, room)
        if key not in self._made:
            self._made[key] = asyncio.create_task(self._shorten(text, room, request, record))
        return await asyncio.shield(self._made[key])

    async def _shorten(
        self, text: StepOutput, room: int, request: SubagentRequest, record: StepRecord
    ) -> str:
        whole = text.text
        for turn in range(1, _ROUNDS + 1):
            name = self.context.options.model_of("worker")
            limits = call_limits(self.context.options, "worker", self.context.models.profile(name))
            parts = parts_of(whole, limits.max_input_tokens or _PART_TOKENS)
            words = max(20, int(room * _WORDS_PER_TOKEN) // len(parts))
            asked = [
                SubagentRequest(
                    key=f"{self.context.key}.{text.name}.summary.{room}.{turn}.{number}",
                    run=request.run,
                    # A file of the run is named after it.
                    step=f"{text.name.replace('/', '_')}-summary-{turn}-{number}",
                    agent="Summariser",
                    attempt=1,
                    tier="worker",
                    model=name,
                    instructions=_INSTRUCTIONS,
                    prompt=f"{part}\n\n{(task := f'Write this part in at most {words} words.')}",
                    asked=(Quote(text=part), task),
                    **dict(limits),
                )
                for number, part in enumerate(parts, 1)
            ]
            texts = await asyncio.gather(
                *(self._ask(each, part, record) for each, part in zip(asked, parts, strict=True))
            )
            shortened = "\n\n".join(text.strip() for text in texts)
            if tokens_of(shortened) >= tokens_of(whole):
                return whole
            whole = shortened
            if tokens_of(whole) <= room:
                return whole
        return whole

    async def _ask(self, request: SubagentRequest, part: str, record: StepRecord) -> str:
        """Return a part's summary; the part itself where the worker has none."""
        request = await self.context.ledger.reserve(request)
        usage = None
        try:
            _, content = await run_task(
                subagent,
                request,
                name=f"{record.step.id} · {request.step}",
                wait_for=record.states,
            )
            result = result_in(content)
            usage = result.usage if result else None
        finally:
            self.context.ledger.settle(request.key, usage)
        if result is None:
            return part
        # What a refusal or a loop has to say is no summary, and a cut one leaves things out.
        return result.text if result.category is None else part
