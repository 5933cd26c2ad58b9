"""Tags of a task run, set when it has begun."""

from __future__ import annotations

from prefect.context import TaskRunContext

from ..text import visible

__all__ = ["tag_task_run"]


def tag_task_run(*tags: str) -> None:
    """Tag the task run this is called in; does nothing outside one.

    Tags that a task run starts with are asked for as concurrency limits: a request to the server
    for each run, and a client in a thread for each distinct set, before the task may begin. These
    are sent with the run's end, and cost nothing. What bounds a tier is `tier_concurrency`.
    """
    context = TaskRunContext.get()
    if context is not None:
        context.task_run.tags = sorted({*context.task_run.tags, "swarm", *map(visible, tags)})
