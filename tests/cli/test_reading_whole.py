"""Nobody approves at the command line what was not shown whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from prefect_swarm.cli import approval_prompt as terminal
from prefect_swarm.errors import AnsweredError
from prefect_swarm.store.approvals import Approvals
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.question import MOST_SHOWN, MOST_STORED, Answer, Question
from prefect_swarm.text import fenced
from typer.testing import Result

Invoke = Callable[..., Result]
RUN = "0123abcd4567"
LONG = fenced(f'{{"text": "{"tea " * (MOST_SHOWN // 4)}; rm -rf /"}}', "json", columns=78)


@pytest.fixture
def approvals(swarm_home: Path) -> Approvals:
    run = RunFolder(swarm_home / "runs" / RUN)
    run.write("run.json", json.dumps({"objective": "x", "flow_run_id": RUN}))
    return Approvals(run)


def asked(approvals: Approvals, text: str, subject: str = "x") -> Question:
    title = "S1 wants to call send"
    return approvals.ask(
        Question(id="S1.1.1", asked="call", subject=subject, step="S1", title=title, text=text)
    )


def verdict(approvals: Approvals) -> str:
    answer = approvals.answer_to("S1.1.1")
    return answer.verdict if answer else ""


@pytest.mark.attack("shown")
def test_a_long_question_is_approved_by_whoever_has_come_to_its_end(
    approvals: Approvals, invoke: Invoke
) -> None:
    asked(approvals, LONG)
    blind = invoke("approve", RUN, "S1")
    assert blind.exit_code != 0
    assert "is approved with the option --read" in blind.stderr
    assert f"prefect-swarm waiting {RUN} S1.1.1" in blind.stderr
    assert verdict(approvals) == ""
    lines = invoke("waiting", RUN, "S1").stdout.splitlines()
    whole = "".join(lines)
    assert "; rm -rf /" in whole
    (approve,) = [line for line in lines if line.startswith("prefect-swarm approve")]
    assert invoke(*approve.removesuffix(" --resume").split()[1:]).exit_code == 0
    assert verdict(approvals) == "approved"


@pytest.mark.attack("shown")
@pytest.mark.parametrize("mark", ["x", "00000000", "yes"])
def test_no_other_mark_approves_it(mark: str, approvals: Approvals, invoke: Invoke) -> None:
    asked(approvals, LONG)
    assert "is not what stands below it" in invoke("approve", RUN, "S1", "--read", mark).stderr
    assert verdict(approvals) == ""


@pytest.mark.attack("shown")
def test_the_mark_of_another_question_approves_nothing(
    approvals: Approvals, invoke: Invoke
) -> None:
    question = asked(approvals, LONG)
    assert question.mark != question.model_copy(update={"subject": "y"}).mark
    assert question.mark != question.model_copy(update={"text": f"{LONG} "}).mark
    assert question.mark != question.model_copy(update={"id": "S1.1.2"}).mark


def test_a_long_question_is_rejected_unread(approvals: Approvals, invoke: Invoke) -> None:
    asked(approvals, LONG)
    assert invoke("reject", RUN, "S1").exit_code == 0
    assert verdict(approvals) == "rejected"


def test_a_short_question_is_approved_as_ever(approvals: Approvals, invoke: Invoke) -> None:
    asked(approvals, fenced('{"to": "Ann"}', "json"))
    assert "--read" not in invoke("waiting", RUN).stdout
    assert invoke("approve", RUN).exit_code == 0
    assert verdict(approvals) == "approved"


def test_a_program_reads_the_mark_with_the_whole_text(approvals: Approvals, invoke: Invoke) -> None:
    question = asked(approvals, LONG)
    (found,) = json.loads(invoke("waiting", RUN, "--json").stdout)["waiting"]
    assert (found["text"], found["read"]) == (LONG, question.mark)


@pytest.mark.attack("shown")
def test_what_is_too_long_to_be_kept_can_only_be_rejected(
    approvals: Approvals, invoke: Invoke
) -> None:
    question = asked(approvals, "x" * (MOST_STORED + 7))
    assert (len(question.text), question.left_out) == (MOST_STORED, 7)
    shown = invoke("waiting", RUN).stdout
    assert "7 characters are left out: it can't be approved." in shown
    assert "prefect-swarm approve" not in shown
    with pytest.raises(AnsweredError, match="can't be shown whole: 7 characters"):
        approvals.answer(Answer(question="S1.1.1", verdict="approved"))
    invoke("approve", RUN, "S1", "--read", question.mark)
    assert verdict(approvals) == ""
    approvals.answer(Answer(question="S1.1.1", verdict="rejected"))
    assert verdict(approvals) == "rejected"


@pytest.mark.attack("shown")
@pytest.mark.parametrize(
    ("text", "prompt"),
    [(LONG, "Go on? [n]o: "), (fenced("{}", "json"), "Go on? [y]es, [n]o: ")],
    ids=["long", "short"],
)
def test_a_terminal_offers_to_go_on_with_what_it_has_shown_whole(
    text: str, prompt: str, approvals: Approvals
) -> None:
    assert terminal.prompt_of(asked(approvals, text)) == prompt


@pytest.mark.attack("shown")
@pytest.mark.parametrize("text", ["A harmless call.", "", LONG])
def test_a_question_that_lay_there_before_says_what_would_be_asked_now(
    text: str, approvals: Approvals
) -> None:
    asked(approvals, text)
    whole = fenced('{"to": "all"}', "json")
    assert asked(approvals, whole).text == whole
    (pending,) = approvals.pending()
    assert pending.text == whole


def test_a_question_that_was_answered_stays_as_it_was_shown(approvals: Approvals) -> None:
    asked(approvals, "as it was")
    approvals.answer(Answer(question="S1.1.1", verdict="approved"))
    assert asked(approvals, "otherwise").text == "as it was"
