"""A run's progress has a line on each model that loads, and nobody else gets it unasked."""

from __future__ import annotations

import logging

import pytest
from prefect_swarm.cli.terminal.session import showing_models, showing_traces

LOGGER = logging.getLogger("prefect_swarm.models")


def test_lines_are_noted_inside_and_not_outside() -> None:
    found: list[str] = []
    with showing_models(found.append):
        LOGGER.info("Loading the model %s.", "small")
    LOGGER.info("Loading the model large.")
    assert found == ["Loading the model small."]


def test_who_has_not_asked_for_the_lines_gets_none(caplog: pytest.LogCaptureFixture) -> None:
    LOGGER.setLevel(logging.NOTSET)
    with showing_models(lambda _: None):
        LOGGER.info("Loading the model small.")
    assert caplog.messages == []
    assert LOGGER.level == logging.NOTSET
    assert LOGGER.propagate


def test_who_has_asked_for_them_still_gets_them(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, LOGGER.name)
    with showing_models(lambda _: None):
        LOGGER.info("Loading the model small.")
    assert caplog.messages == ["Loading the model small."]


def test_why_there_are_no_traces_is_noted() -> None:
    found: list[str] = []
    with showing_traces(found.append):
        logging.getLogger("prefect_swarm.tracing").warning("No traces: %s", "packages are missing")
    assert found == ["No traces: packages are missing"]
