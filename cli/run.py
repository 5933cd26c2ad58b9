"""`prefect-swarm run`, `plan` and `resume`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Annotated, cast

import typer

from ..errors import InputError, RunCancelledError, RunNotFoundError
from ..flows.options import SwarmOptions
from ..flows.readings import input_lines, input_words, repeated_lines
from ..flows.run_inputs import with_inputs
from ..gates import build_pipeline
from ..inputs.storage_paths import is_storage_path
from ..models.names import price_of_name
from ..plan.compile import CompiledPlan, StepDefaults, compile_plan
from ..plan.program_words import program_words
from ..plan.task_ir import TIERS, TaskIR, asks_agents, is_orchestrated
from ..report.lines import DagStep, mermaid
from ..store.protocol import RunStore, is_whole_id
from ..store.result import Planning, SwarmResult
from ..store.runs import find_run, open_run
from ..text import plural
from .command import AsEvents, AsJson, Verbose
from .options import OptionChanges
from .procedure import Param, ProcedureName
from .source import (
    CollectBy,
    Each,
    Exclude,
    Files,
    ItemsFile,
    Join,
    Objective,
    PlanFile,
    RunSource,
    Schema,
    SourceArguments,
    Template,
    Urls,
    check_models,
    read_source,
    with_excluded,
)
from .terminal.files import check_folder, write_folder
from .terminal.plan import estimate_lines, print_plan
from .terminal.printing import print_json, print_text
from .terminal.session import check_output, run_and_report, say, waiting

__all__ = ["RunName", "plan", "resume", "run", "warn_of_lost"]


def run(
    objective: Objective = None,
    plan: PlanFile = None,
    procedure: ProcedureName = None,
    param: Param = None,
    items: ItemsFile = None,
    template: Template = None,
    join: Join = None,
    collect: CollectBy = None,
    each: Each = None,
    file: Files = None,
    exclude: Exclude = None,
    url: Urls = None,
    schema: Schema = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            metavar="DIR",
            help="Write the answer and each artifact into this folder, also one in a storage block "
            "(s3-bucket/NAME:PATH).",
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Don't ask before inputs are sent many times.")
    ] = False,
    options: SwarmOptions = SwarmOptions(),  # noqa: B008 - frozen, and replaced by the options given
    verbose: Verbose = False,
    as_json: AsJson = False,
    stream: AsEvents = False,
) -> int:
    """Plan an objective and run it; or run a plan, or one prompt for many items or files.

    With `--stream` providers are asked to stream.
    """
    check_output(as_json=as_json, as_events=stream)
    folder = None
    if output is not None and is_storage_path(output):
        options = options.model_copy(update={"output_to": output})
    elif output is not None:
        check_folder(folder := Path(output))
    if stream:
        options = options.model_copy(update={"stream_text": True})
    arguments = SourceArguments(
        objective,
        plan,
        items,
        template,
        join,
        collect,
        each or (),
        file or (),
        exclude or (),
        schema,
        url or (),
        procedure,
        param or (),
    )
    source, options = _read(arguments, options)
    orchestrated = is_orchestrated(source.plan)
    _say_inputs(source, options, ask=not yes)
    has_agents = asks_agents(source.plan)
    asyncio.run(check_models(options, orchestrated=orchestrated, has_agents=has_agents))
    is_typed = options.answer_schema is not None
    return run_and_report(
        source.objective,
        lambda: _begin(source, options),
        as_json=as_json,
        as_events=stream,
        verbose=verbose,
        after=None if folder is None else lambda result: _write(folder, result, is_typed),
    )


def _read(arguments: SourceArguments, options: SwarmOptions) -> tuple[RunSource, SwarmOptions]:
    """Return what is to run, and the options with what the arguments say of them."""
    with waiting("Reading"):
        source = read_source(arguments, options.max_steps)
    return source, source.applied_to(with_excluded(options, arguments.exclude))


def _say_inputs(source: RunSource, options: SwarmOptions, *, ask: bool) -> None:
    """Say which files were taken and who reads them; ask where each goes to many instances.

    Raises:
        RunCancelledError: A person doesn't want that.
    """
    for note in source.notes:
        say(note)
    if source.plan is None:
        if source.inputs:
            say(f"{input_words(source.inputs)}.")
        return
    compiled = compile_plan(
        with_inputs(source.plan, source.inputs), StepDefaults(options.max_attempts, options.gates)
    )
    for line in input_lines(compiled):
        say(line)
    repeated = _repeated(compiled, options)
    for line in repeated:
        say(line)
    if repeated and ask and sys.stdin.isatty() and not typer.confirm("Go on?", err=True):
        raise RunCancelledError("Nothing was done.", "With --each a step reads its own file alone.")


def _repeated(compiled: CompiledPlan, options: SwarmOptions) -> list[str]:
    models = {tier: options.model_of(tier) for tier in TIERS}
    named = [*models.values(), *(step.model for step in compiled.steps if step.model)]
    return repeated_lines(compiled, models, {name: price_of_name(name) for name in named})


def _begin(source: RunSource, options: SwarmOptions) -> Callable[[], Awaitable[SwarmResult]]:
    from ..flows.control import called_with
    from ..flows.swarm import swarm

    run_swarm = cast("Callable[..., Awaitable[SwarmResult]]", swarm)

    async def begin() -> SwarmResult:
        with called_with(inputs=source.inputs):
            return await run_swarm(source.objective, plan=source.plan, options=options)

    return begin


def _write(folder: Path, result: SwarmResult, is_typed: bool) -> None:
    # It needs Prefect, which `--help` and the like don't.
    from ..flows.output import output_files

    files = output_files(open_run(result.flow_run_id), result, is_json=is_typed)
    write_folder(folder, files, result.run_id)
    say(f"Wrote {plural(len(files), 'file')} into {folder}.")


RunName = Annotated[str, typer.Argument(metavar="RUN", help="A run's id, or its flow run's.")]


RetryFailed = Annotated[
    bool, typer.Option("--retry-failed", help="Try the failed steps of a partial run again.")
]
Yes = Annotated[
    bool, typer.Option("--yes", "-y", help="Don't ask before paying again for lost results.")
]


def resume(
    run_name: RunName,
    retry_failed: RetryFailed = False,
    yes: Yes = False,
    changes: OptionChanges = OptionChanges(),  # noqa: B008 - replaced by the options given
    verbose: Verbose = False,
    as_json: AsJson = False,
    stream: AsEvents = False,
) -> int:
    """Resume a run that was cancelled, killed or stopped by a limit.

    Finished steps are not done again. Options that are given take the place of the run's own.
    A run whose folder isn't here is refused; with --start-over it begins from nothing, by the
    whole id of its flow run.
    """

    check_output(as_json=as_json, as_events=stream)
    try:
        run = find_run(run_name)
    except RunNotFoundError:
        if not is_whole_id(run_name):
            raise
        # The server may know where it is.
        run = open_run(run_name.strip())
    return run_and_report(
        run.about().objective or run_name,
        lambda: _begin_resume(run_name, retry_failed, changes),
        as_json=as_json,
        as_events=stream,
        verbose=verbose,
        before=lambda: warn_of_lost(run, ask=not yes),
    )


def _begin_resume(
    run_name: str, retry_failed: bool, changes: OptionChanges
) -> Callable[[], Awaitable[SwarmResult]]:
    from ..flows.resume import resume as resume_run

    return lambda: resume_run(run_name, retry_failed=retry_failed, changes=changes)


async def warn_of_lost(run: RunStore, *, ask: bool) -> None:
    """Say what is paid for again since its result is gone; ask first where somebody can answer.

    Raises:
        RunCancelledError: They don't want it.
    """
    from ..flows.stored_plan import paid_again

    if not (lost := await paid_again(run)):
        return
    say(
        f"The results of {', '.join(lost)} are damaged or gone, here and among Prefect's results. "
        "They are asked for, and paid for, again."
    )
    if ask and sys.stdin.isatty() and not typer.confirm("Go on?", err=True):
        raise RunCancelledError("Nothing was done.", "Nothing has changed.")


def plan(
    objective: Objective = None,
    plan: PlanFile = None,
    procedure: ProcedureName = None,
    param: Param = None,
    items: ItemsFile = None,
    template: Template = None,
    join: Join = None,
    collect: CollectBy = None,
    each: Each = None,
    file: Files = None,
    exclude: Exclude = None,
    url: Urls = None,
    schema: Schema = None,
    options: SwarmOptions = SwarmOptions(),  # noqa: B008 - frozen, and replaced by the options given
    as_mermaid: Annotated[
        bool, typer.Option("--mermaid", help="Print a Mermaid flowchart instead of the table.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Show the plan for an objective and run nothing.

    `run --plan` takes what --json prints, with the same files.
    """
    if as_mermaid and as_json:
        raise InputError("--mermaid and --json were both given.", "Give one of them.")
    arguments = SourceArguments(
        objective,
        plan,
        items,
        template,
        join,
        collect,
        each or (),
        file or (),
        exclude or (),
        schema,
        url or (),
        procedure,
        param or (),
    )
    source, options = _read(arguments, options)
    for note in source.notes:
        say(note)
    task_ir = source.plan or asyncio.run(_ask(source, options))
    for names in options.gates.values():
        build_pipeline(names)  # names what isn't there
    defaults = StepDefaults(options.max_attempts, options.gates)
    names = asyncio.run(_toolsets(options)) if any(each.tools for each in task_ir.agents) else None
    filled = with_inputs(task_ir, source.inputs)
    compiled = compile_plan(filled, defaults, toolsets=names)
    if as_json:
        print_json(task_ir)
    elif as_mermaid:
        print_text(mermaid(_dag(compiled)))
    else:
        print_plan(compiled)
        for line in (*input_lines(compiled), *_repeated(compiled, options)):
            print_text(line)
        for line in estimate_lines(filled, compiled, options):
            print_text(line)
    return 0


def _dag(plan: CompiledPlan) -> list[DagStep]:
    return [
        DagStep(
            step.id,
            step.agent,
            step.prompt,
            step.upstream,
            "waiting",
            waits_for=tuple(name for name in step.needs if name not in step.upstream),
            words=program_words(step),
            is_group=step.is_group,
        )
        for step in plan.steps
    ]


async def _toolsets(options: SwarmOptions) -> frozenset[str]:
    from ..flows.preflight import catalogue_of_options

    return (await catalogue_of_options(options)).names


async def _ask(source: RunSource, options: SwarmOptions) -> TaskIR:
    from ..flows.memory import gather_facts
    from ..flows.preflight import toolsets_of_run
    from ..flows.workspace import told_before_a_run
    from ..flows.workspace_options import check_workspace
    from ..models.remote import open_models
    from ..models.resolve import check_served, resolve_model
    from ..tasks.planner.facts import notes_of
    from ..tasks.planner.task import PlanRequest, plan_objective

    request = PlanRequest(
        run="plan",
        objective=source.objective,
        model=options.model_of("orchestrator"),
        max_steps=options.max_steps,
        seed=options.seed,
        adapter=options.adapter,
        inputs=notes_of(source.inputs),
    )
    check_workspace(options)
    async with open_models():
        model = await resolve_model(request.model, "orchestrator")
        # A server that isn't there is an error now, and not after the patience of a request.
        await check_served(model, probe=False)
        # As a run's planner is shown it, except for the memory, which a dry run doesn't open.
        async with toolsets_of_run(options) as toolsets:
            facts = await gather_facts(
                source.objective,
                options,
                price_of_name,
                None,
                toolsets=toolsets,
                told_of_files=partial(told_before_a_run, options),
            )
        planned = await plan_objective(request.model_copy(update={"facts": facts}))
    say(_origin(planned.planning))
    return planned.plan


def _origin(planning: Planning) -> str:
    score = "" if planning.score is None else f", score {planning.score:.2f}"
    return f"Planned by {planning.model}{score} ({planning.choice})."
