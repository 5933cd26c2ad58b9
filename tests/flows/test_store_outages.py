"""A whole run whose database goes away in the middle: for a while, for good, or is full."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

import pytest
from flow_runs import plan_of
from prefect_swarm.errors import StorageError
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.python import swarm
from prefect_swarm.flows.resume import resume
from prefect_swarm.store import postgres_server
from prefect_swarm.store.postgres_server import SCHEMA
from prefect_swarm.store.result import SwarmResult
from prefect_swarm.store.runs import stored_runs
from runs_database import away, do
from scripted import Script, scripted

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("prefect_server", "swarm_home")]

PLAN = plan_of({"id": "S1"}, {"id": "S2", "depends_on": ["S1"]}, {"id": "S3", "depends_on": ["S2"]})
WAITED = "It is waited for"
TABLES = ("files", "entries")


def run() -> SwarmResult:
    options = SwarmOptions(memory=False, max_attempts=1)
    return asyncio.run(swarm(PLAN.objective, plan=PLAN, options=options))


def steps_asked(script: Script) -> list[str]:
    steps = ("S1", "S2", "S3")
    return [step for prompt in script.prompts for step in steps if f"do {step}" in prompt]


def at_step_2(do_it: Callable[[], object]) -> Callable[[str], str]:
    """Return what answers, and does something when the second step is asked for."""

    def reply(prompt: str) -> str:
        if "do S2" in prompt:
            do_it()
        return "an answer"

    return reply


@contextmanager
def when_said(words: str, do_it: Callable[[], object]) -> Generator[list[str]]:
    """Do something, once, as soon as the log of runs has some words; yield what it has."""
    said = list[str]()
    reacted = threading.Event()

    class Reaction(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())
            if words in said[-1] and not reacted.is_set():
                reacted.set()
                do_it()

    logger, handler = logging.getLogger("prefect_swarm.runs"), Reaction()
    logger.addHandler(handler)
    try:
        yield said
    finally:
        logger.removeHandler(handler)


def test_a_run_waits_for_a_database_that_is_away_for_a_while_and_loses_nothing(
    postgres: str, runs_database: str
) -> None:
    outage = away(postgres, runs_database)
    reply = at_step_2(outage.__enter__)
    back = threading.Thread(target=lambda: outage.__exit__(None, None, None))
    with scripted(Script(reply)) as script, when_said(WAITED, back.start) as said:
        result = run()
    back.join()
    assert result.status == "completed", result.problem
    assert steps_asked(script) == ["S1", "S2", "S3"]
    assert sum(WAITED in text for text in said) == 1
    (stored,) = stored_runs()
    assert [step.status for step in stored.steps()] == ["succeeded"] * 3
    assert stored.result() == result
    numbers = [event.number for event in stored.events()]
    assert numbers == [*range(1, len(numbers) + 1)]


def test_a_run_whose_database_stays_away_ends_with_what_to_do_and_goes_on_when_it_is_back(
    postgres: str, runs_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    outage = away(postgres, runs_database)
    reply = at_step_2(outage.__enter__)
    with monkeypatch.context() as patched, scripted(Script(reply)) as script:
        patched.setattr(postgres_server, "PATIENCE_S", 0.5)
        with pytest.raises(StorageError) as caught:
            run()
    assert steps_asked(script) == ["S1", "S2"]
    assert "can't be used" in caught.value.problem
    assert "PREFECT_INTEGRATIONS_SWARM_STORE" in caught.value.fix
    outage.__exit__(None, None, None)
    (stored,) = stored_runs()
    assert stored.result() is None
    with scripted(Script()) as script:
        result = asyncio.run(resume(stored.run_id))
    assert result.status == "completed", result.problem
    assert "S1" not in steps_asked(script)
    assert steps_asked(script)[-1] == "S3"


def test_a_run_whose_database_is_full_for_a_while_goes_on_and_is_stored_at_the_end(
    runs_database: str,
) -> None:
    do(
        runs_database,
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION "
        "'could not extend file' USING ERRCODE = 'disk_full'; END $$",
    )

    def reply(prompt: str) -> str:
        if "do S2" in prompt:
            for table in TABLES:
                do(
                    runs_database,
                    f"CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON {SCHEMA}.{table} "
                    "FOR EACH ROW EXECUTE FUNCTION full_disk()",
                )
        if "do S3" in prompt:
            for table in TABLES:
                do(runs_database, f"DROP TRIGGER full_disk ON {SCHEMA}.{table}")
        return "an answer"

    with scripted(Script(reply)) as script, when_said("", lambda: None) as said:
        result = run()
    assert result.status == "completed", result.problem
    assert steps_asked(script) == ["S1", "S2", "S3"]
    assert sum("Make room on the database's disk" in text for text in said) == 2
    assert not any("still no room" in text for text in said)
    (stored,) = stored_runs()
    assert stored.result() == result
    assert stored.finished_steps() == ("S1", "S2", "S3")
