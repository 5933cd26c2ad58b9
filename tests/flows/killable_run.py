"""Runs in processes of their own that are killed at any moment.

It has everything imported, reads an order a line from standard input (`Order` as JSON), carries it
out in a forked process, and prints how that ended and at which moments it might have been killed.
Each call of the model, and each that its tool has made, is noted in a file of the order's folder.
Where a workspace is changed, so is each call over its files, and git is called at moments as well.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Coroutine
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Literal

from kill_moments import KillMoments
from prefect.settings import get_current_settings
from prefect_swarm.cli.approvals import _answer as edit  # pyright: ignore[reportPrivateUsage]
from prefect_swarm.flows.control import override_toolsets
from prefect_swarm.flows.options import Approve, SwarmOptions
from prefect_swarm.flows.python import swarm
from prefect_swarm.flows.resume import fork, resume
from prefect_swarm.models.resolve import override_models
from prefect_swarm.plan.task_ir import parse_plan
from prefect_swarm.settings import home
from prefect_swarm.store.approvals import Approvals
from prefect_swarm.store.question import Answer, RunWaitingError, Verdict
from prefect_swarm.store.result import RunFailedError
from prefect_swarm.store.runs import find_run, store_address
from prefect_swarm.toolsets.catalogue import marked
from pydantic import BaseModel
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.toolsets import FunctionToolset

_SERVER = Path(__file__).parents[1] / "support" / "desk_server.py"
_CALLS = 3
"""Calls that an agent with tools makes, one after the other."""
_ALIKE = 2
"""As many of calls alike: of a third one a model is told that it repeats itself."""


class Order(BaseModel):
    """What a process does.

    Attributes:
        folder: Where the data folder lies, and the files with what was called.
        kill_at: The moment at which it is killed, as in `KillMoments`; 0: at none.
        run: The run that is resumed, answered or forked.
        plan: The plan of a run that is started, or that an edit puts in the other's place.
        alike: Whether all calls of a tool are equal, and have one id.
        at_once: How many steps run at once, of a run that is started; 0 as ever.
        replies: What the model answers to what it is asked, where that isn't `done: …`.
        objective: What a run is started for that plans itself, where no plan is given.
        mcp: Whether the desk is an MCP server, in a process of its own.
        turns: What the orchestrator writes in each of its turns; the first is the plan. A turn is
            written only where the orchestrator is shown the text `sees`, and `edited` instead of it
            where a person has changed the plan.
        workspace: The folder that a run which is started works on; "" for none.
        edits: The calls over its files that the model makes one after another, by what it is asked.
        checks: Commands that its patches have to pass.
    """

    do: Literal["start", "resume", "answer", "edit", "fork"]
    folder: Path
    kill_at: int | str = 0
    run: str = ""
    plan: dict[str, Any] | None = None
    approve: tuple[Approve, ...] = ()
    question: str = ""
    verdict: Verdict = "approved"
    again: tuple[str, ...] = ()
    alike: bool = False
    replies: dict[str, str] = {}
    at_once: int = 0
    objective: str = ""
    turns: list[dict[str, Any]] = []
    mcp: bool = False
    workspace: str = ""
    edits: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    checks: tuple[str, ...] = ()


class Process:
    """A forked process that carries an order out."""

    def __init__(self, order: Order) -> None:
        self.order = order
        storage = get_current_settings().results.local_storage_path
        notes = order.folder / "moments"
        self.moments = KillMoments((home(), storage), notes, order.kill_at)

    def carry_out(self) -> int:
        """Do what is ordered; return 4 if it waits for a person."""
        order = self.order
        self.moments.watch()
        if store_address():
            self._watch_store()
        if order.edits:
            self._watch_git()
            self._watch_files()
            self._watch_writes()
        if order.do == "answer":
            answer = Answer(question=order.question, verdict=order.verdict, at=time.time())
            Approvals(find_run(order.run)).answer(answer)
            return 0
        if order.do == "edit":
            edit(Approvals(find_run(order.run)), order.plan or {})
            return 0
        try:
            with (
                override_models(worker=self._model(), orchestrator=self._model()),
                nullcontext() if order.mcp else override_toolsets(desk=self._desk()),
            ):
                asyncio.run(self._run())
        except RunWaitingError:
            return 4
        except RunFailedError:
            return 1
        return 0

    def _watch_store(self) -> None:
        """Count each statement but the renewals of a lease, which end soon where it is killed."""
        from prefect_swarm.store import lease
        from prefect_swarm.store.postgres_server import StoreServer

        lease.HEARTBEAT_S, lease.LEASE_S = 0.2, 2.0
        rows = StoreServer.rows

        def counted(server: StoreServer, query: str, *values: Any, **more: Any) -> Any:
            if more.get("patience_s") == 0:
                return rows(server, query, *values, **more)
            what = query.partition("acted AS (")[2][:40] or query[:40]
            self.moments.at(f"do {what}")
            found = rows(server, query, *values, **more)
            self.moments.at(f"done {what}")
            return found

        StoreServer.rows = counted  # type: ignore[method-assign]

    def _watch_git(self) -> None:
        """Count the moments before git is called, and while it is at work: it lives on then."""
        from prefect_swarm.workspace.git import _name  # pyright: ignore[reportPrivateUsage]

        begin = subprocess.Popen.__init__

        def counted(process: Any, command: list[str], *more: Any, **named: Any) -> None:
            is_git = command[0] == "git"
            if is_git:
                self.moments.at(f"git {_name(command)}")
            begin(process, command, *more, **named)
            if is_git:
                self.moments.at(f"begun git {_name(command)}")

        subprocess.Popen.__init__ = counted  # type: ignore[method-assign]

    def _watch_writes(self) -> None:
        """Count the moments before and after the run writes a file of its own."""
        from prefect_swarm.store.run_files import RunFiles

        def counted(what: str, act: Callable[..., Any]) -> Callable[..., Any]:
            def acted(run: RunFiles, name: str, *more: Any, **named: Any) -> Any:
                self.moments.at(f"{what} {name}")
                result = act(run, name, *more, **named)
                self.moments.at(f"{what} {name}, done")
                return result

            return acted

        for what in ("write", "append", "remove"):
            setattr(RunFiles, what, counted(what, getattr(RunFiles, what)))

    def _watch_files(self) -> None:
        """Note each call over the workspace's files that was made, by who made it."""
        from prefect_swarm.toolsets import workspace as tools

        names = {
            json.dumps([tool, *arguments.values()]): f"{asked} call {number}"
            for asked, calls in self.order.edits.items()
            for number, (tool, arguments) in enumerate(calls, 1)
        }
        execute = tools.execute

        def noted(tool: str, make: Callable[..., Any]) -> Callable[..., Any]:
            def made(repository: Any, tree: str, *arguments: Any) -> Any:
                # Whoever reads names no lines.
                name = names[json.dumps([tool, *arguments[: 1 if tool == "read" else None]])]
                self.moments.at(f"making {name}")
                result = make(repository, tree, *arguments)
                self._note("made", name)
                return result

            return made

        async def executed(files: Path, commands: list[str], **more: Any) -> Any:
            name = names[json.dumps(["run", *commands])]
            self.moments.at(f"making {name}")
            result = await execute(files, commands, **more)
            self._note("made", name)
            return result

        tools.page = noted("read", tools.page)
        tools.edited = noted("edit", tools.edited)
        tools.rewritten = noted("write", tools.rewritten)
        tools.execute = executed

    def _run(self) -> Coroutine[Any, Any, Any]:
        order = self.order
        servers = self._servers() if order.mcp else None
        if order.do == "resume":
            return resume(order.run)
        if order.do == "fork":
            return fork(order.run, again=order.again)
        options = SwarmOptions(approve=order.approve, memory=False, model="test", mcp=servers)
        if order.at_once:
            options = options.model_copy(update={"max_concurrency": order.at_once})
        if order.workspace:
            update = {"workspace": order.workspace, "checks": order.checks}
            options = options.model_copy(update=update)
        if order.turns:
            options = options.model_copy(update={"turns": len(order.turns)})
            return swarm(order.objective, options=options)
        plan = parse_plan(order.plan or {})
        return swarm(plan.objective, plan=plan, options=options)

    def _servers(self) -> str:
        """Write the file that has the desk's server begun; a run that is resumed reads it anew."""
        arguments = [self.order.folder, os.getpid(), self.order.kill_at]
        command = {"command": sys.executable, "args": [str(_SERVER), *map(str, arguments)]}
        path = self.order.folder / "servers.json"
        path.write_text(json.dumps({"mcpServers": {"desk": command}}), "utf-8")
        return str(path)

    def _note(self, what: str, name: str) -> None:
        with (self.order.folder / what).open("a", encoding="utf-8") as file:
            file.write(f"{name}\n")
        self.moments.at(f"{what} {name}")

    def _model(self) -> FunctionModel:
        def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            self.moments.at("model")
            if info.output_tools:
                self._note("calls", "turn 1")
                return ModelResponse([ToolCallPart("write_plan", self.order.turns[0])])
            if turn := re.search(r"^Turn (\d+)\.", _last(messages), re.MULTILINE):
                return ModelResponse([TextPart(self._directed(int(turn[1]), _last(messages)))])
            parts = [part for message in messages for part in message.parts]
            results = [part for part in parts if isinstance(part, ToolReturnPart)]
            first = (str(getattr(part, "content", "")) for part in messages[0].parts)
            asked = _asked("\n".join(first))
            self._note("calls", f"{asked}{f' after {len(results)}' if results else ''}")
            if len(edits := self.order.edits.get(asked, [])) > len(results):
                return ModelResponse([ToolCallPart(*edits[len(results)])])
            if edits:
                return ModelResponse([TextPart(f"done: {asked}")])
            if info.function_tools and self.order.alike and len(results) < _ALIKE:
                return ModelResponse([ToolCallPart("send", {"letter": 1}, "call_0")])
            if info.function_tools and not self.order.alike and len(results) < _CALLS:
                return ModelResponse([ToolCallPart("send", {"letter": len(results) + 1})])
            if asked.startswith("review "):
                return ModelResponse([TextPart('{"reasons": ["none"], "verdict": "accept"}')])
            reply = self.order.replies.get(asked, f"done: {asked}")
            return ModelResponse([TextPart(reply)])

        return FunctionModel(answer)

    def _directed(self, number: int, shown: str) -> str:
        turn = self.order.turns[number - 1]
        if "A person has changed the plan" in shown:
            self._note("calls", f"turn {number} edited")
            return json.dumps(turn["edited"])
        self._note("calls", f"turn {number}")
        if turn.get("sees", "") not in shown:
            return json.dumps({"finish": {"answer": f"Turn {number} saw something else."}})
        return json.dumps({key: turn[key] for key in turn.keys() - {"sees", "edited"}})

    def _desk(self) -> FunctionToolset[None]:
        def send(letter: int) -> str:
            self.moments.at(f"sending {letter}")
            self._note("sent", str(letter))
            return f"sent {letter}"

        def take_back(letter: int) -> str:
            self.moments.at(f"taking back {letter}")
            self._note("taken_back", str(letter))
            return f"taken back {letter}"

        def refuse() -> str:
            raise ToolFailed("the desk is closed")

        tools = FunctionToolset[None]()
        tools.add_function(send, metadata=marked(acting=True))
        tools.add_function(take_back, metadata=marked(acting=True))
        tools.add_function(refuse)
        return tools


def _last(messages: list[ModelMessage]) -> str:
    return "\n".join(str(getattr(part, "content", "")) for part in messages[-1].parts)


def _asked(prompt: str) -> str:
    """Return what a prompt asks for; what it reads comes before that, and a schema after it."""
    asked = [line for line in prompt.splitlines() if line.startswith("do ")]
    if "Try to refute" in prompt:
        last = re.findall(r"do S[^\s”]+", prompt)[-1]
        return f"review {last}"
    return asked[-1] if asked else prompt.splitlines()[-1]


def _forked(order: Order) -> int:
    """Carry an order out in a forked process, and return how it ended."""
    if (child := os.fork()) == 0:
        os.environ["PREFECT_INTEGRATIONS_SWARM_HOME"] = str(order.folder / "swarm")
        (temporary := order.folder / "temporary").mkdir(exist_ok=True)
        tempfile.tempdir = str(temporary)
        code = 70
        try:
            code = Process(order).carry_out()
        except BaseException:  # noqa: BLE001 - what is left is said, and no order is read here
            traceback.print_exc()
        # As Python ends, with what Prefect has still to send, but without giving memory back.
        atexit._run_exitfuncs()
        os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def main() -> None:
    """Carry orders out until there are no more."""
    for line in sys.stdin:
        order = Order.model_validate_json(line)
        code = _forked(order)
        moments = (order.folder / "moments").read_text("utf-8").splitlines()
        sys.stdout.write(json.dumps({"code": code, "moments": moments}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
