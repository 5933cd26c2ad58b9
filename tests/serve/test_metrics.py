"""Prometheus can read the counters."""

from __future__ import annotations

import re

from prefect_swarm.models.llama.api import GeneratedText
from prefect_swarm.serve.service import ServerMetrics


def test_every_line_is_a_metric_or_says_what_it_is() -> None:
    metrics = ServerMetrics(waiting=2, running=1)
    metrics.end("completed")
    metrics.add(GeneratedText("x", 10, 4, 3, "stop", 0.25, 1.5))
    lines = metrics.text().splitlines()
    form = r'# (HELP|TYPE) \w+ .+|prefect_swarm_\w+(\{outcome="\w+"\})? [\d.]+'
    assert [line for line in lines if not re.fullmatch(form, line)] == []
    assert {
        'prefect_swarm_requests_total{outcome="completed"} 1',
        'prefect_swarm_requests_total{outcome="failed"} 0',
        "prefect_swarm_prompt_tokens_total 10",
        "prefect_swarm_cached_tokens_total 4",
        "prefect_swarm_written_tokens_total 3",
        "prefect_swarm_queue_seconds_sum 0.25",
        "prefect_swarm_queue_seconds_count 1",
        "prefect_swarm_work_seconds_sum 1.5",
        "prefect_swarm_requests_waiting 2",
        "prefect_swarm_requests_running 1",
    } <= set(lines)


def test_each_metric_has_its_type_before_it() -> None:
    known: set[str] = set()
    for line in ServerMetrics().text().splitlines():
        if line.startswith("# TYPE"):
            known.add(line.split()[2])
        elif not line.startswith("#"):
            name = re.split(r"[{ ]", line)[0]
            assert re.sub(r"_(sum|count)$", "", name) in known
