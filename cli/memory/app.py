"""`prefect-swarm memory`: the memory of earlier runs, and its maintenance."""

from __future__ import annotations

import typer

from ...memory.store import build_index, open_configured_store
from ...text import plural
from ..command import AsJson, command
from ..terminal.printing import print_json, print_text
from .options import EmbedderName
from .persona import persona_app, personas
from .show import show, show_lesson
from .stats import bytes_of, readable, search, stats
from .transfer import export, forget, read_in

__all__ = ["memory_app"]

memory_app = typer.Typer(no_args_is_help=True, help="What is remembered of earlier runs.")


def rebuild(embedder: EmbedderName = "wordllama", as_json: AsJson = False) -> int:
    """Build the index again from the log: vectors and graph, of all namespaces."""
    with open_configured_store(embedder) as store:
        done = build_index(store, full=True)
    if as_json:
        damage = str(done.damage) if done.damage else None
        print_json({**done._asdict(), "damage": damage})
        return 0
    print_text(
        f"Generation {done.generation} of {plural(done.episodes, 'episode')} in "
        f"{done.seconds:.1f} s, {plural(done.embedded, 'text')} embedded."
    )
    if done.damage:
        print_text(f"What was damaged is repaired: {done.damage}")
    return 0


def vacuum(as_json: AsJson = False) -> int:
    """Rewrite the log without unused space, and finish an interrupted forget."""
    from ...memory.forgetting import finish_forgetting

    with open_configured_store() as store:
        before = bytes_of(store.place.folder)["total"]
        finish_forgetting(store)
        after = bytes_of(store.place.folder)["total"]
    if as_json:
        print_json({"bytes_before": before, "bytes": after})
    else:
        print_text(f"{readable(after)} on this disk, {readable(before)} before.")
    return 0


for _function in (stats, search, show, rebuild, export, forget, vacuum, personas):
    memory_app.command()(command(_function, "write"))
memory_app.command("lesson")(command(show_lesson, "write"))
memory_app.command("import")(command(read_in, "write"))
memory_app.add_typer(persona_app, name="persona")
