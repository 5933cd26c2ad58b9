"""What `doctor` says of the weights that a model file is computed with."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .check import Check

if TYPE_CHECKING:
    from ...blocks.llama.requantised.prepared import Prepared

__all__ = ["check_weights", "planner_weights"]

_SETTING = "PREFECT_INTEGRATIONS_SWARM_REQUANTISE"
_GAIN = (
    "Measured with the embedded model on a busy machine with AVX-512: prompts are read 1.7 times "
    "as fast, eight answers at once written 1.2 times; a single answer gains nothing."
)


def check_weights(title: str, model: Any) -> Iterable[Check]:
    """Say which weights a model file is computed with, and whether others would be faster.

    Nothing is said of a model of a provider.
    """
    from ...blocks.local import local_model

    if (local := local_model(model)) is None:
        return
    from ...blocks.llama.requantised.prepared import find_prepared

    name = title.replace("model", "weights", 1)
    prepared = find_prepared(local.path)
    if prepared is not None:
        yield Check(name, "ok", _embedded(prepared))
    else:
        yield _as_is(name, local.path)


def planner_weights(name: str, adapter: Path) -> str:
    """Say of the model of a name where its adapter's weights are added to its own; "" if nowhere.

    Args:
        name: Of a model file: `demo`, or `llamacpp:` and a path.
        adapter: The adapter that it plans with.
    """
    from ...blocks.llama.gguf import check_model_file, demo_model_path
    from ...blocks.llama.merged.prepared import find_merged

    path = check_model_file(name.partition(":")[2] or demo_model_path())
    if (merged := find_merged(path, adapter)) is None:
        return ""
    if merged.made:
        size = merged.path.stat().st_size
        return f", added to the model's weights: {size / 1e6:.0f} MB at {merged.path}"
    return (
        f"; the first plan adds it to the model's weights, about {merged.size / 1e6:.0f} MB at "
        f"{merged.path}"
    )


def _embedded(prepared: Prepared) -> str:
    change = prepared.change
    target = change.target.upper()
    if prepared.made:
        size = prepared.path.stat().st_size
        return f"{change.source} requantised to {target}, {size / 1e6:.0f} MB at {prepared.path}"
    return (
        f"{change.source}; the first use makes {target} of it, about {change.size / 1e6:.0f} MB "
        f"at {prepared.path}"
    )


def _as_is(name: str, path: Path) -> Check:
    from ...blocks.llama.gguf import is_demo_model, read_tensors
    from ...blocks.llama.requantised.prepared import requantisation_for
    from ...blocks.llama.requantised.tensor_types import bytes_by_type

    tensors = read_tensors(path, "model file")
    sizes = bytes_by_type(tensors)
    types = ", ".join(f"{kind} {size / 1e6:.0f} MB" for kind, size in sizes.items())
    if (change := requantisation_for(path)) is None:
        return Check(name, "ok", f"as in the file: {types}")
    slow = f"as in the file: {types}; this processor has no fast kernel for {change.source}"
    if is_demo_model(path):
        return Check(name, "ok", slow, f"Unset {_SETTING}. {_GAIN}")
    better = f"{change.target.upper()}, about {change.size / 1e6:.0f} MB"
    return Check(name, "ok", slow, f"For {better}, run: prefect-swarm requantise {path}. {_GAIN}")
