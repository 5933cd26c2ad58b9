"""How commands of the docs are typed in the tests, and which are not, with the reason."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["EMBEDDED", "NOT_RUN", "How", "how_to_type", "reason_not_to", "typed"]

NOT_RUN: tuple[tuple[str, str], ...] = (
    (r"(python -m )?pip install", "it needs a package index; test_written_right knows the names"),
    (
        r"prefect-swarm run .* --url ",
        "it needs the web: tests/toolsets/test_web_source reads such pages",
    ),
    (
        r"prefect-swarm run .* local-file-system/reports:",
        "the block has to be there: tests/cli/test_stored_files saves one",
    ),
    (
        r"prefect-swarm (run .* --workspace .* --python|patch RUN|apply RUN)",
        "the model has to change files: tests/cli/test_patch_of_run does it, and the tutorial",
    ),
    (r"make |make$", "it runs the tests, or what they run"),
    (
        r"docker |kubectl |OTEL_EXPORTER_OTLP_ENDPOINT=\S+ prefect-swarm",
        "it needs a container's server",
    ),
    (r"export ", "it changes the shell alone"),
    (r"(\S+=\S+ )?prefect-swarm serve", "it serves until Ctrl-C: tests/serve and tests/cli do it"),
    (r"python benches/", "it measures or trains for minutes: tests/benches has its parts"),
    (r"prefect-swarm train", "it trains for minutes: tests/parl does it"),
    (r"python -m prefect_swarm.parl.data", "it draws 40,000 plans: tests/parl/data does it"),
    (
        r"(\S+=\S+ )?prefect |curl .*PREFECT_API_URL",
        "it needs a server and a pool: test_deploying types it, or test_deployment",
    ),
    (r"PREFECT_API_URL=\S+ prefect-swarm watch", "it needs another machine's server"),
    (
        r"prefect-swarm watch [0-9a-f]{12}",
        "the run has to go on meanwhile: tests/cli/watching does it",
    ),
    (
        r"prefect-swarm tell [0-9a-f]{12}",
        "the run has to go on meanwhile: tests/flows/provider/test_messages does it",
    ),
    (
        r"prefect-swarm automations --create",
        "they act on other tests' runs: tests/flows/prefect_io/test_ready_automations does it",
    ),
    (r"prefect-swarm approve [0-9a-f]{12}$", "a worker has to be there: test_deploying types it"),
    (r"prefect-swarm gates check letter.txt", "a package has to be there: test_own_gate does it"),
    (r"prefect-swarm doctor( --deep)?$", "it says what the machine has: tests/cli/doctor does it"),
    (r"prefect-swarm doctor --mcp \S+ --login$", "a person logs in: tests/cli/doctor does it"),
    (
        r"prefect-swarm runs --move",
        "it needs a PostgreSQL server: tests/flows/test_shared_store does it",
    ),
    (
        r"createdb |kill -9 |prefect-swarm batch .* --shared ",
        "it needs a PostgreSQL server: tests/flows/test_two_homes and test_homes_together do it",
    ),
    (r"python pretend_model.py", "it serves until Ctrl-C: its answers are those of the stand-in"),
    (r"python told.py", "it serves until Ctrl-C; automations that call a webhook have their test"),
    (
        r"dask (scheduler|worker) |prefect-swarm run .* --executor dask:",
        "it needs a cluster: tests/flows/cluster has one",
    ),
    (
        r"prefect-swarm run .* --options-block ",
        "the block has to be there: tests/flows/test_shared_options saves one",
    ),
    (
        r"prefect-swarm run .* --provider-limit ",
        "the server has to have the limit: tests/models/test_shared_limit makes one",
    ),
    (
        r"prefect-swarm procedure (list|suggest|export|import|.*weekly-report)|"
        r"prefect-swarm (run|plan) --procedure weekly-report|prefect-swarm plan --plan mail.json",
        "the procedure has to be there: tests/docs/test_procedures_doc types them",
    ),
    (r"jq ", "the program may be missing; test_deployment reads the same fields of such a file"),
    (r"sqlite3 ", "the program may be missing: test_personas_doc asks the same"),
)
"""Beginnings of commands that no test types, and why."""


@dataclass(frozen=True, slots=True)
class How:
    """What a command needs and may end with.

    Attributes:
        scene: What is there before.
        codes: The exit codes that are right.
    """

    scene: str = "nothing"
    codes: tuple[int, ...] = (0,)


_HOW: tuple[tuple[str, How], ...] = (
    (r"prefect-swarm (waiting|approve|reject) RUN S3", How("step waits")),
    (r"prefect-swarm (approve|reject|edit) RUN", How("plan waits")),
    (r"prefect-swarm (waiting|runs --status waiting)", How("plan waits")),
    (r"prefect-swarm resume RUN", How("answered")),
    (r"prefect-swarm fork RUN$", How("partial", (3,))),
    # Its plan was given.
    (r"prefect-swarm fork RUN --turn", How("done", (2,))),
    (r"prefect-swarm diff RUN RUN", How("two")),
    (r"prefect-swarm memory import", How("exported")),
    (r"prefect-swarm run .*--approve", How(codes=(4,))),
    (r"prefect-swarm (memory|runs)|.*\bRUN\b", How("done")),
    (r"prefect-swarm eval .*--baseline", How("evaluated", (0, 1))),
    (r"prefect-swarm eval", How(codes=(0, 1))),
)
EMBEDDED = "SmolLM2-135M-Instruct.Q4_1"
"""What outputs call the embedded model, in whose place the server is too."""
_TYPED: tuple[tuple[str, str], ...] = (
    (r"\b(openai:[\w.-]+@)https?://[^\s'\"/]+/v1", r"\1{server}"),
    (r"\b(openai|anthropic):([\w.-]+)(?![\w.@-])", r"openai-chat:\2"),
    (r"llamacpp:\S+|\bdemo\b", f"openai:{EMBEDDED}@{{server}}"),
    (r'"…"', '"Compare trains and buses"'),
    (r"\bpersona NAME\b", "persona clerk"),
    (r"--baseline FILE", "--baseline $PREFECT_INTEGRATIONS_SWARM_HOME/evals/*/*.json"),
)


def reason_not_to(command: str) -> str | None:
    """Return why a command is not typed in a test."""
    return next((why for begins, why in NOT_RUN if re.match(begins, command)), None)


def how_to_type(command: str) -> How:
    """Return what a command needs and may end with."""
    return next((how for begins, how in _HOW if re.match(begins, command)), How())


def typed(command: str, *, server: str, runs: list[str]) -> str:
    """Return a command with ids, names and the stand-in's models in their places."""
    for pattern, put in _TYPED:
        command = re.sub(pattern, put, command)
    for run in reversed(runs):
        command = re.sub(r"\bRUN\b", run, command, count=1)
    return command.replace("{server}", server)
