"""Messages of a worker about a run's attempts: some at a time, and bounded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

from ...errors import BudgetExceededError
from ...store.attempt import Usage
from ...tasks.context import AttemptBudget
from .payload import Message, MessageBatch, Said, Took, Wants

__all__ = ["PAUSE_S", "Outbox"]

PAUSE_S = 0.1
"""Seconds in which messages are gathered."""
_UNREAD = 1 << 18
"""Characters of models' texts that may be under way; beyond that they wait here."""
_HELD = 1 << 16
"""Characters that wait here of one attempt; beyond that the first of them are dropped."""


@dataclass(slots=True)
class Outbox:
    """What a worker says of a run's attempts. It belongs to one event loop.

    Text is held back, and then dropped, where nobody reads it fast enough. Everything else is sent:
    there is as much of it as calls and requests are bounded to.

    Attributes:
        send: Takes what is to be sent, as JSON; it doesn't block.
        budgets: What the attempts under way took, by their keys.
    """

    worker: str
    send: Callable[[str], None]
    budgets: dict[str, AttemptBudget] = field(default_factory=dict[str, AttemptBudget])
    _items: list[Message] = field(default_factory=list[Message])
    _held: dict[str, list[Said]] = field(default_factory=dict[str, list[Said]])
    _taken: dict[str, Usage] = field(default_factory=dict[str, Usage])
    _unread: int = 0
    _wants: dict[tuple[str, int], asyncio.Future[None]] = field(
        default_factory=dict[tuple[str, int], "asyncio.Future[None]"]
    )
    _numbers: count[int] = field(default_factory=lambda: count(1))
    _due: asyncio.TimerHandle | None = None

    def put(self, message: Message) -> None:
        """Send a message within a tenth of a second."""
        if isinstance(message, Said):
            self._say(message)
        else:
            self._items.append(message)
        if self._due is None:
            self._due = asyncio.get_running_loop().call_later(PAUSE_S, self.flush)

    def flush(self) -> None:
        """Send what there is now."""
        if self._due is not None:
            self._due.cancel()
            self._due = None
        for key, budget in self.budgets.items():
            if budget.taken != self._taken.get(key, Usage()):
                self._taken[key] = budget.taken
                self._items.append(Took(key=key, usage=budget.taken))
        if not self._items:
            return
        items, self._items = tuple(self._items), []
        self._unread += sum(len(item.text) for item in items if isinstance(item, Said))
        self.send(MessageBatch(worker=self.worker, items=items).model_dump_json())

    def end(self, key: str) -> None:
        """Send what there is, and keep nothing more of an attempt."""
        self._items += self._held.pop(key, ())
        self.flush()
        self.budgets.pop(key, None)
        self._taken.pop(key, None)

    async def extend(self, key: str, usage: Usage, input_tokens: int) -> None:
        """Wait until the run can afford another request of an attempt.

        Raises:
            BudgetExceededError: It never can.
        """
        wanted = Wants(key=key, number=next(self._numbers), usage=usage, input_tokens=input_tokens)
        answered = asyncio.get_running_loop().create_future()
        self._wants[key, wanted.number] = answered
        self._items.append(wanted)
        self.flush()
        try:
            await answered
        finally:
            del self._wants[key, wanted.number]

    def reply(self, key: str, number: int, problem: str, fix: str) -> None:
        """Answer what `extend` waits for; a second answer counts for nothing."""
        answered = self._wants.get((key, number))
        if answered is None or answered.done():
            return
        if problem:
            answered.set_exception(BudgetExceededError(problem, fix))
        else:
            answered.set_result(None)

    def free(self, characters: int) -> None:
        """Note that so many characters were read."""
        self._unread -= characters
        for key in [*self._held]:
            for said in self._held.pop(key):
                self.put(said)

    def _say(self, said: Said) -> None:
        if self._unread < _UNREAD:
            last = self._items[-1] if self._items else None
            if isinstance(last, Said) and last.key == said.key and not said.begins:
                self._items[-1] = last.model_copy(update={"text": last.text + said.text})
            else:
                self._items.append(said)
            return
        held = self._held.setdefault(said.key, [])
        if said.begins or not held:
            held[:] = [said]
        else:
            text = (held[-1].text + said.text)[-_HELD:]
            held[-1] = held[-1].model_copy(update={"text": text})
