"""Prefect Swarm: an objective becomes a Prefect flow run of concurrent subagents.

The public names are imported when they are first used, since Prefect takes seconds to import.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .blocks import (
        FailurePolicy,
        LlamaCpp,
        McpServer,
        ModelProvider,
        SharedOptions,
        override_models,
    )
    from .errors import SwarmError
    from .flows.batch import swarm_batch
    from .flows.control import RunControl, controlled, override_toolsets
    from .flows.messages import tell
    from .flows.options import SwarmOptions
    from .flows.python import stream, swarm, swarm_sync
    from .flows.resume import fork, resume
    from .flows.swarm import swarm as swarm_flow
    from .memory.forgetting import Forgotten, forget
    from .models.llama.model import LlamaCppModel
    from .plan.compile import CompiledPlan, compile_plan
    from .plan.task_ir import Agent, Output, Step, TaskIR, load_plan, parse_plan
    from .report.run_html import report_html
    from .store.events import RunEvent
    from .store.item_table import ItemTable
    from .store.outputs import StepFailure, StepResult, read_output
    from .store.result import SwarmResult

__all__ = [
    "Agent",
    "CompiledPlan",
    "FailurePolicy",
    "Forgotten",
    "ItemTable",
    "LlamaCpp",
    "LlamaCppModel",
    "McpServer",
    "ModelProvider",
    "Output",
    "RunControl",
    "RunEvent",
    "SharedOptions",
    "Step",
    "StepFailure",
    "StepResult",
    "SwarmError",
    "SwarmOptions",
    "SwarmResult",
    "TaskIR",
    "compile_plan",
    "controlled",
    "forget",
    "fork",
    "load_plan",
    "override_models",
    "override_toolsets",
    "parse_plan",
    "read_output",
    "report_html",
    "resume",
    "stream",
    "swarm",
    "swarm_batch",
    "swarm_flow",
    "swarm_sync",
    "tell",
]

_HOMES = {
    "blocks": (
        "FailurePolicy",
        "LlamaCpp",
        "McpServer",
        "ModelProvider",
        "SharedOptions",
        "override_models",
    ),
    "models.llama.model": ("LlamaCppModel",),
    "errors": ("SwarmError",),
    "store.events": ("RunEvent",),
    "flows.batch": ("swarm_batch",),
    "plan.compile": ("CompiledPlan", "compile_plan"),
    "flows.control": ("RunControl", "controlled", "override_toolsets"),
    "flows.messages": ("tell",),
    "flows.options": ("SwarmOptions",),
    "flows.resume": ("fork", "resume"),
    "flows.python": ("stream", "swarm", "swarm_sync"),
    "report.run_html": ("report_html",),
    "memory.forgetting": ("Forgotten", "forget"),
    "store.item_table": ("ItemTable",),
    "store.outputs": ("StepFailure", "StepResult", "read_output"),
    "store.result": ("SwarmResult",),
    "plan.task_ir": ("Agent", "Output", "Step", "TaskIR", "load_plan", "parse_plan"),
}

# pytest reads this file as a module that is in no package.
if __package__:
    from .host.network import keep_loopback_direct
    from .host.system import make_logs_visible, require_posix

    # First of all: the rest can't be imported where the system lacks what it needs.
    require_posix()
    keep_loopback_direct()
    make_logs_visible()


def __getattr__(name: str) -> Any:
    try:
        if name == "swarm_flow":
            return import_module(".flows.swarm", __name__).swarm
        for home, names in _HOMES.items():
            if name in names:
                return getattr(import_module(f".{home}", __name__), name)
    except RuntimeError as error:
        from .host.system import no_home

        raise no_home(error) or error from None
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Name what is public, too: `prefect block register -m prefect_swarm` looks for blocks here."""
    return sorted({*globals(), *__all__})
