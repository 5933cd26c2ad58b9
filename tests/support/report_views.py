"""Runs as pages and drawings are made from them: a small one in which much happened, and large."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from picture_files import picture_bytes
from prefect_swarm.errors import Category
from prefect_swarm.gates import Diagnostic, GateResult
from prefect_swarm.inputs.pictures import Picture
from prefect_swarm.report.page import (
    AttemptView,
    Block,
    Bullets,
    Drawing,
    Figure,
    Figures,
    Page,
    Paragraph,
    Quoted,
    Ref,
    RunView,
    Section,
    StepPicture,
    StepView,
    Strong,
    Table,
)
from prefect_swarm.store.attempt import Attempt, Decision, Usage
from prefect_swarm.store.result import Cost, Metrics, Planning
from prefect_swarm.store.step import StepState

__all__ = [
    "HOSTILE",
    "busy_view",
    "large_view",
    "pages_of_all_blocks",
    "pictured_view",
    "spread_view",
    "view_of_steps",
]

HOSTILE = (
    "</textarea></script></style></svg><script>document.title='ran'</script>"
    "<img src=http://evil.example/x onerror=\"document.title='ran'\">"
    "![a](http://evil.example/i.png) [b](javascript:document.title='ran') {{ 7*7 }}"
    " \x00\ud800\ufffe"
)


def attempt(number: int, start: float, end: float, **fields: Any) -> Attempt:
    given: dict[str, Any] = {
        "number": number,
        "tier": "worker",
        "model": "openai:gpt-5-mini",
        "started_at": 1000.0 + start,
        "ended_at": 1000.0 + end,
        "queue_s": min(0.4, (end - start) / 4),
        "usage": Usage(
            requests=1, input_tokens=900 + 40 * number, output_tokens=300, cost_usd=0.002
        ),
    }
    return Attempt(**given | fields)


def failed(number: int, start: float, end: float, then: Any = "RETRY", **fields: Any) -> Attempt:
    gates = (
        GateResult(
            gate="schema",
            status="failed",
            started_at=1000.0 + end,
            duration_s=0.3,
            diagnostics=(Diagnostic(message="'price' is a required property", line=3),),
        ),
        GateResult(
            gate="length",
            status="passed",
            started_at=1000.0 + end + 0.3,
            duration_s=0.1,
            required=False,
        ),
    )
    decision = Decision(
        action=then,
        rule="SCHEMA: 1 on worker",
        reason="The schema refuses it; the same model is told why.",
        tier="coder" if then == "ESCALATE" else "worker",
        delay_s=0.5,
    )
    given: dict[str, Any] = {
        "category": Category.SCHEMA,
        "error": "gate schema: 'price' is a required property",
        "gates": gates,
        "decision": decision,
    }
    return attempt(number, start, end, **given | fields)


def step(name: str, agent: str, *tries: Attempt, upstream: str = "", **fields: Any) -> StepView:
    status = fields.pop("status", "succeeded")
    stands = "unfinished" if status in ("waiting", "ready", "running", "asked") else status
    result = StepState(
        id=name,
        agent=agent,
        status=stands,
        prompt=fields.pop("prompt", f"Say what there is to know of part {name}, with figures."),
        attempts=tries,
        critical=fields.pop("critical", False),
        reason=fields.get("why", "") if stands != "succeeded" else "",
        slack_s=fields.pop("slack_s", None),
        excerpt=str(fields.get("output") or "")[:200],
        parent=fields.pop("parent", ""),
        label=fields.pop("label", ""),
        summary=fields.pop("summary", ""),
        by_condition=fields.pop("by_condition", False),
    )
    return StepView(
        state=result,
        upstream=tuple(upstream.split()),
        status=status,
        attempts=tuple(
            AttemptView(
                number=each.number,
                instructions=f"You are the {agent}.",
                sent=result.prompt,
                answered=str(fields.get("output") or "…"),
            )
            for each in tries
        ),
        **fields,
    )


def view_of_steps(*steps: StepView, status: str = "completed", answer: str = "") -> RunView:
    tries = [each for found in steps for each in found.state.attempts]
    usage = sum((each.usage for each in tries), Usage())
    start = min((each.started_at for each in tries), default=1000.0)
    end = max((each.ended_at for each in tries), default=1000.0)
    work = sum(each.duration_s for each in tries)
    metrics = Metrics(
        critical_steps=6,
        makespan_s=end - start,
        critical_path_s=(end - start) * 0.9,
        work_s=work,
        parallelism=work / (0.9 * (end - start) or 1),
        speedup=work / ((end - start) or 1),
    )
    cost = Cost.of(usage + Usage(requests=2, input_tokens=2100, output_tokens=700, cost_usd=0.01))
    planned = Usage(requests=1, input_tokens=1500, output_tokens=400, cost_usd=0.008)
    return RunView(
        run_id="0123abcd4567",
        flow_run_id="0123abcd-4567-0000-0000-000000000000",
        objective="Compare trains, buses and bicycles as a way to travel between two cities",
        status=status,
        answer=answer,
        problem="" if status == "completed" else "1 of 9 steps did not succeed.",
        steps=steps,
        planning=Planning(source="orchestrator", model="openai:gpt-5", usage=planned),
        metrics=metrics if tries else None,
        cost=cost,
        began_at=start - 2,
        ended_at=end + 1,
    )


ANSWER = """# Trains, buses and bicycles

**Trains** are the fastest way over more than 50 km, *buses* the cheapest.

| Way | Time | Price |
|---|--:|--:|
| Train | 1:05 | €24 |
| Bus | 1:50 | €9 |
| Bicycle | 6:30 | – |

### What decides

1. How far it is
2. What you carry

> Figures are those of the timetable of today.

```python
def cost(km: float) -> float:
    return 0.18 * km  # euros
```
See [the timetable](https://rail.example/table).
"""
DIFF = "--- before\n+++ after\n@@ -1,2 +1,2 @@\n-Trains are fast\n+Trains are fastest\n the rest"


def busy_view(*, status: str = "partial", answer: str = ANSWER) -> RunView:
    """Nine steps: retries, a failure, what is skipped, running and waiting; an odd name."""
    return view_of_steps(
        step("S1", "Railway Researcher", attempt(1, 0, 4.2), critical=True, output="Rail " * 90),
        step("S2", "Coach Researcher", attempt(1, 0.2, 3.1), slack_s=1.1, output="Bus " * 40),
        step(
            "S3",
            "Cycling Expert with a long name that does not fit",
            failed(1, 0.2, 2.0),
            failed(2, 3.0, 5.0, "ESCALATE"),
            attempt(3, 6.0, 9.5, model="anthropic:claude-sonnet", tier="coder"),
            critical=True,
            kind="json",
            output='{"price": 12, "by": "bicycle"}',
            files=("cost.csv",),
        ),
        step("S4", "Price Checker", attempt(1, 9.9, 12.0), upstream="S1 S2 S3", critical=True),
        step("S5", "价格分析师 <b>", attempt(1, 4.4, 6.0), upstream="S1"),
        step(
            "S6",
            "Reviewer",
            failed(1, 6.2, 8.0, "FAIL"),
            upstream="S5",
            status="failed",
            why="SCHEMA: 'price' is a required property",
        ),
        step("S7", "Editor", upstream="S6", status="skipped", why="S6, which it needs, failed"),
        step("S8", "Writer", upstream="S4", status="running", why="attempt 1 is under way"),
        step("S9", "Proof Reader", upstream="S8 S4", status="waiting", why="S8 is not over"),
        status=status,
        answer=answer,
    )


def large_view(count: int = 300, output: str = "Long output. " * 40) -> RunView:
    """A plan of many steps: two waves side by side, pairs, and an end that reads them all."""
    steps: list[StepView] = [step("S1", "Scout", attempt(1, 0, 3), critical=True, output=output)]
    half = (count - 2) * 2 // 3
    for number in range(2, count):
        start = 3.5 + number * 0.15
        tries = (
            (failed(1, start, start + 2), attempt(2, start + 3, start + 6))
            if number % 17 == 0
            else (attempt(1, start, start + 2 + number % 7),)
        )
        needed = "S1" if number <= half else f"S{number - half + 1}"
        steps.append(
            step(f"S{number}", "Reader", *tries, upstream=needed, output=output, slack_s=2.0)
        )
    ends = " ".join(f"S{number}" for number in range(half - (count - half) // 2, count))
    steps.append(
        step(f"S{count}", "Writer", attempt(1, 60, 70), upstream=ends, critical=True, output=output)
    )
    return view_of_steps(*steps, answer=ANSWER)


def spread_view(count: int = 20, lost: Collection[int] = (3, 9), **fields: Any) -> RunView:
    """A step for each of some items, one in rounds, one with a plan inside, and one skipped."""
    steps: list[StepView] = [step("S1", "Finder", attempt(1, 0, 1), critical=True)]
    status = "failed" if len(lost) * 2 > count else "succeeded"
    summary = f"{count - len(lost)} of {count} instances succeeded"
    steps.append(step("S2", "Reader", upstream="S1", status=status, summary=summary))
    for number in range(1, count + 1):
        start = 1 + number * 0.1
        own: dict[str, Any] = {"parent": "S2", "label": f"Paper {number}"}
        made = attempt(1, start, start + 2)
        if number in lost:
            made = failed(1, start, start + 1, "FAIL")
            own |= {"status": "failed", "why": "SCHEMA: no price"}
        steps.append(step(f"S2[{number}]", "Reader", made, **own))
    ends = "ended after 2 rounds: /problems is empty"
    steps.append(step("S3", "Checker", upstream="S2", summary=ends))
    for number in (1, 2):
        made = attempt(1, 40.0 + 3 * number, 42.0 + 3 * number)
        needs = "S3r1" if number > 1 else ""
        steps.append(step(f"S3r{number}", "Checker", made, upstream=needs, parent="S3"))
    steps.append(step("S4", "", upstream="S1", prompt=""))
    steps.append(step("S4.S1", "Finder", attempt(1, 2, 3), parent="S4"))
    steps.append(step("S4.S2", "Writer", attempt(1, 3, 5), upstream="S4.S1", parent="S4"))
    why = "its condition doesn't hold: S1 /kind is bug"
    steps.append(step("S5", "Fixer", upstream="S1", status="skipped", why=why, by_condition=True))
    steps.append(step("S6", "Writer", attempt(1, 50, 52), upstream="S2 S3 S4 S5", critical=True))
    return view_of_steps(*steps, answer=ANSWER, **fields)


def pictured_view() -> RunView:
    """A step with a picture that is drawn, wider than a phone, and one that isn't."""
    drawn = Picture("image/png", 1200, 20, picture_bytes(size=(1200, 20)))
    pictures = (
        StepPicture("plot.png", "a file that it left", "/runs/plot.png", drawn),
        StepPicture("gone.png", "returned by look", "/runs/gone.png", why="its file is gone"),
    )
    return view_of_steps(step("S1", "Analyst", attempt(1, 0, 3), pictures=pictures))


def pages_of_all_blocks(text: str = "Some words") -> list[Page]:
    """Pages that have every kind of block, with a text of somebody's in each place."""
    blocks: list[Block] = [
        Paragraph((text, Ref("S1", text), Ref("no such page", text), Strong(text))),
        Bullets(((text,), (Ref("plan", text), text))),
        Table((text, "Long"), ((text, "word " * 40), (Strong(text), Ref("S3", text))), more=3),
        Figures((Figure(text, "12.5 s", text),)),
        Quoted(text, left_out=12),
        Quoted(text, "markdown"),
        Quoted(f"-{text}\n+{text}", "diff"),
        Quoted(f'{{"a": 1, "b": "{text}"}}', "json"),
        Quoted(f"def f(): return 1  # {text}", "python"),
        Quoted(text, text),
        StepPicture(text, text, text, why=text),
    ]
    drawings = [Drawing("graph", text), Drawing("timeline", text), Drawing("costs", text)]
    sections = [Section(text, blocks), Section(text, blocks, folded=True)]
    return [
        Page("answer", text, blocks, [Section("Answer", [Quoted(ANSWER, "markdown")]), *sections]),
        Page("plan", text, [], [Section("Drawings", drawings)]),
        *(Page(f"S{number}", text, [Paragraph((text,))], sections) for number in range(1, 10)),
    ]
