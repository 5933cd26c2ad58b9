"""Forgetting: episodes and all that was made of them are removed for good."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import MemoryStoreError
from .configured import opened
from .selecting import Meant, meant_by, selected

if TYPE_CHECKING:
    from datetime import datetime

    from .persona.store import PersonaStore
    from .store import Store

__all__ = ["Forgotten", "forget", "forget_meant"]


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was forgotten.

    Attributes:
        episodes: How many.
        personas: The invented personas that went with them.
        decisions: How many decisions about personas went or changed.
        generation: The index that was built without them; None if there was none to build again.
    """

    episodes: int = 0
    personas: tuple[str, ...] = ()
    decisions: int = 0
    generation: int | None = None


def forget(
    *,
    run: str | None = None,
    step: str | None = None,
    persona: str | None = None,
    before: datetime | None = None,
    containing: str | None = None,
    everything: bool = False,
    namespace: str = "default",
    embedder: str = "wordllama",
) -> Forgotten:
    """Remove episodes for good, from the memory that the settings name; nobody is asked.

    All conditions have to hold, and there has to be one. With the episodes go their vectors, the
    generations of the index that have them, what was learned of them, and their keys in decisions
    about personas; see docs/memory.md. It blocks until the index is built again.

    Args:
        run: All of this run: its flow run's id, or the short one that commands print.
        step: Of this step.
        persona: By this persona. An invented one goes, too, if this is the only condition.
        before: Ended before this time; one without a time zone is this machine's.
        containing: Prompt, objective, error or excerpt has this text, in any case. So do reasons of
            decisions, which lose it, and prompts of invented personas, which go if this is the only
            condition.
        everything: All of the namespace; no other condition may be given.
        namespace: Whose memory.
        embedder: What makes vectors where the index is built again: `wordllama`, `llamacpp:PATH` or
            `PROVIDER:MODEL`.

    Raises:
        InputError: No condition, an empty one, one besides `everything`, a short name that several
            runs have, or an unknown embedder.
        MemoryStoreError: The memory can't be read or written; the same call made again goes on.
    """
    which = selected(run, step, persona, before, containing, everything=everything)
    with opened(embedder) as store:
        return forget_meant(store, meant_by(store, namespace, which))


def forget_meant(store: Store, meant: Meant) -> Forgotten:
    """Remove what is meant, and all that was made of it; killed, the same call finishes it.

    Raises:
        MemoryStoreError: The memory can't be written, or a reader keeps its bytes.
    """
    if not meant:
        # An earlier call may have been killed in its middle.
        store.log.vacuum()
        _finish(store)
        return Forgotten()
    # The log goes last: killed before that, the same call finds all of it again.
    decisions = _forget_decisions(store.personas, meant)
    gone = store.log.forget(meant.namespace, meant.which)
    return Forgotten(len(gone), meant.personas, decisions, _finish(store))


def _forget_decisions(store: PersonaStore, meant: Meant) -> int:
    """Remove the personas, and from what was decided of others the keys and the text."""
    if meant.which.everything:
        return store.forget(meant.namespace)
    gone = sum(store.forget(meant.namespace, name) for name in meant.personas)
    keys = {entry.episode.key for entry in meant.entries}
    return gone + store.scrub(meant.namespace, keys, meant.which.containing)


def _finish(store: Store) -> int | None:
    """Build the index again, if it has what was forgotten; return its number, None without one."""
    from .index.build import built
    from .index.generation import read_pointer
    from .learning.storage import clear_beliefs

    clear_beliefs(store.place.folder)
    if read_pointer(store.place.folder) is None:
        return None
    try:
        return built(store).generation
    except MemoryStoreError as error:
        raise MemoryStoreError(
            f"The episodes are gone from the log, but the index that was made of them is still on "
            f"the disk: {error.problem}",
            "Build it again: prefect-swarm memory rebuild",
        ) from error
