"""`prefect-swarm memory search`: attempts at steps like a text."""

from __future__ import annotations

from typing import Annotated

import typer

from ...errors import InputError
from ...memory.configured import open_configured_store
from ...text import one_line
from ..command import AsJson
from ..output.printing import print_json, print_table, print_text
from .options import EmbedderName, Namespace, outcome, say_empty, short

__all__ = ["search"]


def search(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What a step would be asked.")],
    limit: Annotated[int, typer.Option(min=1, help="Attempts at most.")] = 10,
    namespace: Namespace = "default",
    embedder: EmbedderName = "wordllama",
    as_json: AsJson = False,
) -> int:
    """Find the attempts whose prompts are most like a text, the newest included."""
    if not text.strip():
        raise InputError("The text is empty.", "Say what to look for.")
    with open_configured_store(embedder) as store:
        found = store.similar(namespace, text, limit)
    if as_json:
        rows = [
            {
                "similarity": round(similarity, 4),
                "position": position,
                "attempt": short(episode.key),
                **episode.model_dump(mode="json", include={"run", "step", "persona", "tier"}),
                "number": episode.attempt,
                "outcome": outcome(episode),
                "prompt": episode.prompt,
            }
            for (position, episode), similarity in found
        ]
        print_json({"text": text, "namespace": namespace, "matches": rows})
    elif not found:
        say_empty(namespace)
    else:
        print_table(
            ("Similarity", "Attempt", "Persona", "Tier", "Outcome", "Prompt"),
            (
                (
                    f"{similarity:.2f}",
                    short(episode.key),
                    one_line(episode.persona, 30),
                    episode.tier,
                    outcome(episode),
                    one_line(episode.prompt, 300),
                )
                for (_, episode), similarity in found
            ),
            right=frozenset({"Similarity"}),
        )
        print_text("")
        print_text(f"Look closer: prefect-swarm memory show {short(found[0][0].episode.key)}")
    return 0
