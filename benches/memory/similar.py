"""Pairs of similar objectives, each with the parts that a good plan works on side by side."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["TOPICS", "Topic"]


class Topic(NamedTuple):
    """What was wanted earlier, what is wanted now, and the parts that don't need each other."""

    earlier: str
    now: str
    parts: tuple[str, ...]
    join: str


TOPICS = (
    Topic(
        "Compare green tea, black coffee and cocoa for a long night shift and pick one",
        "Which is best for a long night shift, mate, black tea or coffee? Compare and pick one",
        (
            "Describe green tea for a night shift",
            "Describe black coffee for a night shift",
            "Describe cocoa for a night shift",
        ),
        "Compare the three drinks for a night shift and pick one",
    ),
    Topic(
        "Review our checkout page for security, speed and accessibility and sum up the findings",
        "Review our login page for security, speed and accessibility, with one summary",
        (
            "Review the checkout page for security",
            "Review the checkout page for speed",
            "Review the checkout page for accessibility",
        ),
        "Sum up the findings on the checkout page",
    ),
    Topic(
        "Plan a weekend in Rome with museums, restaurants and walks as one schedule",
        "Plan a weekend in Vienna with museums, restaurants and walks as one schedule",
        (
            "List museums in Rome for a weekend",
            "List restaurants in Rome for a weekend",
            "List walks in Rome for a weekend",
        ),
        "Write the schedule of the weekend in Rome",
    ),
    Topic(
        "Translate the release notes into German, French, Spanish and Polish",
        "Translate these release notes into Italian, German, Dutch and French",
        (
            "Translate the release notes into German",
            "Translate the release notes into French",
            "Translate the release notes into Spanish",
            "Translate the release notes into Polish",
        ),
        "",
    ),
    Topic(
        "Estimate the cost of a wooden garden shed: timber, roof, paint and tools, with a total",
        "Estimate the cost of a wooden tree house: timber, roof, paint and tools, with a total",
        (
            "Estimate the cost of timber for a garden shed",
            "Estimate the cost of a roof for a garden shed",
            "Estimate the cost of paint for a garden shed",
            "Estimate the cost of tools for a garden shed",
        ),
        "Add up the cost of the garden shed",
    ),
    Topic(
        "Write Python functions that parse dates, parse amounts and parse names from invoices",
        "Write Python functions that parse dates, parse totals and parse addresses from receipts",
        (
            "Write a Python function that parses dates from invoices",
            "Write a Python function that parses amounts from invoices",
            "Write a Python function that parses names from invoices",
        ),
        "",
    ),
    Topic(
        "Debate whether cities should ban cars: arguments for, arguments against, a verdict",
        "Debate whether cities should ban scooters: arguments for, arguments against, a verdict",
        ("Argue for a ban of cars from cities", "Argue against a ban of cars from cities"),
        "Give a verdict on the ban of cars from cities",
    ),
    Topic(
        "Sum up the quarterly sales of north, south, east and west and write one report",
        "Write one report on the quarterly sales of the regions north, south, east and west",
        (
            "Sum up the quarterly sales of the north",
            "Sum up the quarterly sales of the south",
            "Sum up the quarterly sales of the east",
            "Sum up the quarterly sales of the west",
        ),
        "Write the report on quarterly sales",
    ),
)
