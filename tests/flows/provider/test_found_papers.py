"""A plan that a strong model wrote before anybody knew how many papers there are."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Sequence

import pytest
from flow_runs import steps_of
from prefect_swarm.store.result import SwarmResult
from provider_runs import planned, serving
from provider_server import Asked, ProviderServer, Reply
from recorded_plans import recorded_programs

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

RECORDED = next(each for each in recorded_programs() if each.name.startswith("papers_of"))
_SECTIONS = ("Claim", "Method", "Evidence", "Cost", "Limits")


def papers(count: int) -> list[dict[str, str]]:
    return [
        {
            "title": f"Sparse attention, part {number}",
            "url": f"https://papers.example/{number}",
            "idea": f"Routes {number} tokens.",
        }
        for number in range(1, count + 1)
    ]


class Models:
    """A strong planner, and subagents that find so many papers; the first review refuses one."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.read: list[str] = []
        self.reviewed: list[str] = []
        self.compared: list[str] = []
        self._lock = threading.Lock()

    def __call__(self, asked: Asked) -> Reply:
        if "write_plan" in json.dumps(asked.body.get("tools") or ""):
            return Reply(tool_args=RECORDED.plan)
        said = "\n".join(asked.texts)
        with self._lock:
            if "You referee" in said:
                self.reviewed.append(said)
                return Reply(json.dumps({"verdict": "accept", "reasons": "Sound."}))
            if "You search preprint servers" in said:
                return Reply(json.dumps({"papers": papers(self.count)}))
            if "You read one paper" in said:
                self.read.append(asked.prompt)
                title = re.search(r"Sparse attention, part \d+", asked.prompt)
                name = title[0] if title else "?"
                sections = (f"## {section}\n\n{section} of {name}." for section in _SECTIONS)
                return Reply("\n\n".join(sections))
            self.compared.append(asked.prompt)
            return Reply(f"Compared {self.count} papers.")


@pytest.mark.parametrize("count", [3, 30])
def test_one_plan_serves_however_many_papers_are_found(count: int) -> None:
    models = Models(count)
    with serving(models) as server:
        result = planned(server, RECORDED.objective)
    assert result.status == "completed", result.problem
    assert result.answer == f"Compared {count} papers."
    assert [step.id for step in result.plan.steps] == ["S1", "S2", "S3"]
    assert _instances(result) == [f"S2[{number}]" for number in range(1, count + 1)]
    assert _titles(models.read) == sorted(paper["title"] for paper in papers(count))
    (compared,) = models.compared
    for paper in papers(count):
        assert f"Claim of {paper['title']}." in compared
    assert len(models.reviewed) == count
    assert _plans_asked(server) == 1


def _instances(result: SwarmResult) -> list[str]:
    found = [step for step in steps_of(result).values() if step.id.startswith("S2[")]
    assert {step.status for step in found} == {"succeeded"}
    return [step.id for step in found]


def _titles(prompts: Sequence[str]) -> list[str]:
    return sorted(
        title for prompt in prompts for title in re.findall(r"Read the paper “(.*?)”", prompt)
    )


def _plans_asked(server: ProviderServer) -> int:
    return sum("write_plan" in json.dumps(asked.body.get("tools") or "") for asked in server.asked)
