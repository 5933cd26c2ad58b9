"""Contents of a generation, in a comparable form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prefect_swarm.memory.index.generation import Generation, Pointer, open_generation, read_pointer

__all__ = ["contents", "open_newest"]


def open_newest(folder: Path) -> Generation:
    """The generation that counts, opened."""
    pointer = read_pointer(folder)
    assert isinstance(pointer, Pointer), pointer
    found = open_generation(folder, pointer)
    assert isinstance(found, Generation), found
    return found


def contents(folder: Path) -> dict[str, Any]:
    """Every position with its vector, by namespace, and every row of the graph."""
    generation = open_newest(folder)
    graph = generation.graph()
    try:
        rows = graph.rows()
        vectors: dict[str, Any] = {}
        for name in generation.manifest.namespaces:
            index = generation.index(name)
            assert index is not None
            vectors[name] = {p: v.tolist() for p, v in sorted(index.vectors().items())}
    finally:
        graph.close()
        generation.close()
    return {"vectors": vectors, "graph": rows, "episodes": generation.manifest.episodes}
