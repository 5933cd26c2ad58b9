"""The server of the README's first run: it stands in for a model, at the speed of a large one."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from math import ceil
from types import MappingProxyType

from provider_server import Asked, ProviderServer, Reply, provider_server
from recorded_plans import recorded_plans

__all__ = ["MODEL", "OBJECTIVE", "hand_mill"]

MODEL = "qwen2.5-72b-instruct"
_RECORDED = next(each for each in recorded_plans() if each.name.startswith("market_research"))
OBJECTIVE = _RECORDED.objective
_PLAN_S = 3.8
_PIECE = 24
_LEAD = """Enter Germany and German-speaking Switzerland next year, in the third quarter.

| Region | Demand | Competition | Channel | Hurdles | Fit | Sum |
|---|--:|--:|--:|--:|--:|--:|
| DACH | 5 | 2 | 5 | 4 | 5 | 4.25 |
| Nordics | 4 | 3 | 3 | 3 | 3 | 3.30 |
| Japan | 3 | 4 | 3 | 2 | 4 | 3.20 |
| North America | 3 | 3 | 3 | 2 | 3 | 2.85 |
| Iberia | 2 | 4 | 2 | 4 | 3 | 2.85 |

Sell through mail order and health food shops, with 140,000 €. Strongest argument against it:
three makers are at home there. It does not carry, since all 3,000 mills are a small share.
"""
_ANSWERS: Mapping[str, tuple[float, str]] = MappingProxyType(
    {
        "Analyst – DACH": (
            5.0,
            "About a fifth of the households bake bread every week. Three makers are known: two"
            " build in beech as you do, at 300 to 480 €, and the third sells electric mills with a"
            " crank as an extra. Mail order for well-made goods and Reformhaus shops fit best. The"
            " GS mark is voluntary for a mill without a motor, and buyers look for it. Swiss"
            " customs want a declaration of origin. Weight and price are no obstacle."
            "\n\nSCORE: 8/10",
        ),
        "Analyst – Nordics": (
            2.8,
            "Rye is baked at home in all four countries, and its kernels wear stones faster."
            " Prices are high enough for 389 €. Norway stands outside the customs union, so each"
            " parcel needs papers.\n\nSCORE: 6/10",
        ),
        "Analyst – Iberia": (
            3.8,
            "Galicia and the Alentejo keep bread of rye and maize alive, and few households there"
            " mill at home. Department stores take about 45 % of the price, independent shops"
            " about 35 %. The price is what stops most buyers.\n\nSCORE: 4/10",
        ),
        "Analyst – Japan": (
            2.9,
            "Soba hobbyists know hand mills and pay for good stones. The Food Sanitation Act asks"
            " for a test of what touches the flour. Goods have to arrive before the two gift"
            " seasons, in May and in October.\n\nSCORE: 6/10",
        ),
        "Analyst – North America": (
            2.5,
            "The niche of home millers is loyal and small. Liability insurance and returns over"
            " long distances cost more than the margin of the first year.\n\nSCORE: 5/10",
        ),
        "Strategy Lead": (4.0, _LEAD),
    }
)


@contextmanager
def hand_mill(port: int) -> Generator[ProviderServer]:
    """Serve the plan and the answers at a port of this machine."""
    with provider_server(_reply, models=(MODEL,), port=port) as server:
        yield server


def _reply(asked: Asked) -> Reply:
    if asked.is_plan:
        return _paced(asked, Reply(tool_args=_RECORDED.plan), _PLAN_S)
    agents = _RECORDED.plan["create_subagent"]
    name = next(a["name"] for a in agents if any(a["system_prompt"] in t for t in asked.texts))
    seconds, text = _ANSWERS[name]
    return _paced(asked, Reply(text), seconds)


def _paced(asked: Asked, reply: Reply, seconds: float) -> Reply:
    """Have an answer take so many seconds, evenly over its pieces."""
    whole = reply.text or json.dumps(reply.tool_args)
    tokens = {"input_tokens": len("".join(asked.texts)) // 4, "output_tokens": len(whole) // 4}
    begins = time.monotonic()
    if not asked.body.get("stream"):
        time.sleep(seconds)
    pace = _pace(begins, seconds / ceil(len(whole) / _PIECE))
    return replace(reply, piece=_PIECE, before_piece=pace, **tokens)


def _pace(begins: float, piece_s: float) -> Callable[[int], None]:
    def wait(number: int) -> None:
        time.sleep(max(0.0, begins + number * piece_s - time.monotonic()))

    return wait
