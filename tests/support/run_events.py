"""Events for tests: a strategy, and what a run's file has."""

from __future__ import annotations

from hypothesis import strategies as st
from prefect_swarm.store.events import (
    AnsweredEvent,
    AnsweringEvent,
    AskedEvent,
    BeganEvent,
    CutEvent,
    DecisionEvent,
    DirectingEvent,
    EndedEvent,
    FinishedEvent,
    GateEvent,
    PartEvent,
    PlannedEvent,
    PlannedStep,
    PlanningEvent,
    ReadyEvent,
    RunEvent,
    SpentEvent,
    StartedEvent,
    TextEvent,
    TurnEvent,
    UndoneEvent,
    WaitEvent,
)
from prefect_swarm.store.folder import RunFolder

__all__ = ["kept_events", "run_events", "texts"]

texts = st.builds(TextEvent, text=st.text(max_size=40), step=st.just("S1"))
_words = st.text(max_size=20)
run_events: st.SearchStrategy[RunEvent] = st.one_of(
    texts,
    st.builds(AnsweredEvent, question=_words, verdict=st.just("approved"), why=_words),
    st.builds(AskedEvent, question=_words, title=_words),
    st.builds(AnsweringEvent, attempt=st.integers(1, 3)),
    st.builds(BeganEvent, resumed=st.booleans()),
    st.builds(CutEvent),
    st.builds(DecisionEvent, action=st.sampled_from(["RETRY", "FAIL"]), reason=_words),
    st.builds(DirectingEvent, number_of_turn=st.integers(2, 9), cause=_words),
    st.builds(EndedEvent, kind=st.sampled_from(["succeeded", "retrying"]), reason=_words),
    st.builds(FinishedEvent, answer=st.text(max_size=200)),
    st.builds(GateEvent, gate=_words, found=_words),
    st.builds(PlannedEvent, steps=st.tuples(st.builds(PlannedStep, id=_words, agent=_words))),
    st.builds(PlanningEvent, model=_words),
    st.builds(PartEvent, step=_words, pool=_words, flow_run=_words, state=_words, url=_words),
    st.builds(ReadyEvent, step=_words),
    st.builds(SpentEvent, calls=st.integers(0, 9), cost_usd=st.none() | st.floats(0, 9)),
    st.builds(StartedEvent, step=_words, tier=_words),
    st.builds(TurnEvent, number_of_turn=st.integers(2, 9), finished=st.booleans()),
    st.builds(UndoneEvent, step=_words, call=_words, problem=_words),
    st.builds(WaitEvent, provider=_words, seconds=st.none() | st.floats(0, 9)),
)


def kept_events(name: str) -> list[RunEvent]:
    """The events that a run's folder has."""
    return [*RunFolder.find(name).events()]
