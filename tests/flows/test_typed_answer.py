"""An answer may have a type: it is JSON that fits, or the run says why it isn't."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from flow_runs import plan_of
from prefect_swarm import SwarmOptions, SwarmResult, TaskIR, swarm
from prefect_swarm.errors import InputError
from prefect_swarm.flows.control import called_with
from pydantic import BaseModel, TypeAdapter, ValidationError, field_validator
from pydantic_ai.exceptions import ModelHTTPError
from scripted import Script, scripted

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

TWO_ENDS = plan_of({"id": "S1"}, {"id": "S2"})
ONE_END = plan_of({"id": "S1"})
ONCE = SwarmOptions(memory=False, max_attempts=1)


class Place(BaseModel):
    name: str
    metres: int


class Peak(BaseModel):
    """What is asked for: with a part of its own, and a rule that JSON Schema can't say."""

    place: Place
    others: list[Place] = []

    @field_validator("place")
    @classmethod
    def _is_high(cls, place: Place) -> Place:
        if place.metres < 1000:
            raise ValueError(f"{place.name} is not a mountain")
        return place


@dataclass
class Weight:
    kilograms: float


HIGH = json.dumps({"place": {"name": "Galdhøpiggen", "metres": 2469}})
LOW = json.dumps({"place": {"name": "Ekeberg", "metres": 132}})
UNFIT = json.dumps({"place": {"name": "Ekeberg", "metres": "high"}})


def answering(*answers: str | Exception) -> Script:
    """Steps are done in prose; the final answers are these, the last one again and again."""
    left = list(answers)

    def reply(prompt: str) -> str | Exception:
        if "Write the final answer." not in prompt:
            return f"In prose about {prompt}."
        return left.pop(0) if len(left) > 1 else left[0]

    return Script(reply)


def run(
    script: Script,
    output_type: Any,
    plan: TaskIR = TWO_ENDS,
    options: SwarmOptions = ONCE,
) -> SwarmResult:
    with scripted(script):
        return asyncio.run(swarm("Find out", plan=plan, options=options, output_type=output_type))


def questions(script: Script) -> list[str]:
    """The prompts that asked for the answer."""
    return [prompt for prompt in script.prompts if "Write the final answer." in prompt]


class TestThatFits:
    def test_it_is_an_object_of_the_type_and_its_json(self) -> None:
        result = run(script := answering(HIGH), Peak)
        assert result.status == "completed"
        assert result.output == Peak(place=Place(name="Galdhøpiggen", metres=2469))
        assert json.loads(result.answer) == json.loads(HIGH)
        assert len(questions(script)) == 1

    def test_the_model_is_shown_the_schema_with_its_parts(self) -> None:
        run(script := answering(HIGH), Peak)
        (question,) = questions(script)
        assert json.dumps(Peak.model_json_schema(), sort_keys=True) in question

    def test_a_block_around_it_is_no_part_of_it(self) -> None:
        result = run(answering(f"Here it is:\n```json\n{HIGH}\n```"), Peak)
        assert result.answer == HIGH

    @pytest.mark.parametrize(
        ("output_type", "text", "output"),
        [
            (list[int], "[1, 2]", [1, 2]),
            (Weight, '{"kilograms": 2}', Weight(2)),
            (int, "42", 42),
            (str, '"Oslo"', "Oslo"),
            (dict[str, Weight], '{"brick": {"kilograms": 2}}', {"brick": Weight(2)}),
        ],
    )
    def test_any_type_that_pydantic_knows_will_do(
        self, output_type: Any, text: str, output: object
    ) -> None:
        assert run(answering(text), output_type).output == output

    def test_a_final_step_that_fits_is_not_written_again(self) -> None:
        plan = plan_of({"id": "S1", "output": {"kind": "json"}})
        result = run(script := Script(lambda _: HIGH), Peak, plan)
        assert len(script.prompts) == 1
        assert result.output.place.metres == 2469

    def test_a_final_step_in_prose_is_written_as_the_type(self) -> None:
        result = run(script := answering(HIGH), Peak, ONE_END)
        (question,) = questions(script)
        assert "In prose about do S1." in question
        assert result.output.place.metres == 2469

    def test_a_partial_run_may_have_one(self) -> None:
        def reply(prompt: str) -> str:
            if "Write the final answer." in prompt:
                return HIGH
            return "" if "do S2" in prompt else "In prose."

        result = run(Script(reply), Peak)
        assert result.status == "partial"
        assert result.output == Peak.model_validate_json(HIGH)


class TestThatDoesNotFit:
    def test_the_model_is_told_what_breaks_the_schema(self) -> None:
        result = run(script := answering(UNFIT, HIGH), Peak)
        first, second = questions(script)
        assert "not accepted" not in first
        assert "$.place.metres: 'high' is not of type 'integer'" in second
        assert result.status == "completed"
        assert result.output.place.metres == 2469

    def test_the_model_is_told_what_breaks_the_types_own_rules(self) -> None:
        result = run(script := answering(LOW, HIGH), Peak)
        assert "place: Ekeberg is not a mountain" in questions(script)[1]
        assert result.output.place.metres == 2469

    def test_the_model_is_told_that_it_is_not_json(self) -> None:
        run(script := answering("Galdhøpiggen, I think", HIGH), Peak)
        assert "it is not valid JSON" in questions(script)[1]

    def test_a_validator_that_breaks_is_a_problem_like_others(self) -> None:
        class Fragile(BaseModel):
            city: str

            @field_validator("city")
            @classmethod
            def _is_known(cls, city: str) -> str:
                return {"oslo": "Oslo"}[city]

        result = run(script := answering('{"city": "bergen"}', '{"city": "oslo"}'), Fragile)
        assert "KeyError('bergen')" in questions(script)[1]
        assert result.output == Fragile.model_construct(city="Oslo")

    @pytest.mark.parametrize("wrong", [UNFIT, LOW], ids=["schema", "rule"])
    def test_after_three_answers_the_run_is_partial_and_says_why(self, wrong: str) -> None:
        result = run(script := answering(wrong), Peak)
        assert len(questions(script)) == 3
        assert result.status == "partial"
        assert "The answer doesn't fit its type" in result.problem
        assert "Ekeberg is not a mountain" in result.problem or "'high'" in result.problem
        assert result.output is None
        assert "In prose about do S1." in result.answer

    def test_each_answer_is_a_task_run_and_is_counted(self) -> None:
        result = run(answering(UNFIT, LOW, HIGH), Peak)
        assert result.cost.calls == 2 + 3

    def test_a_model_that_cannot_be_asked_is_not_asked_again(self) -> None:
        result = run(script := answering(ModelHTTPError(401, "far", {"message": "no key"})), Peak)
        assert len(questions(script)) == 1
        assert result.status == "partial"
        assert "The answer could not be written" in result.problem
        assert "no key" in result.problem

    def test_what_is_wrong_is_told_within_bounds(self) -> None:
        long = json.dumps({"place": {"name": "x", "metres": "high" * 4000}})
        run(script := answering(long, HIGH), Peak)
        assert len(questions(script)[1]) < 10_000


def a_function(city: str) -> str:
    raise AssertionError("called")


class TestThatIsNoType:
    @pytest.mark.parametrize(
        "output_type", [a_function, print, Callable[[int], int], object(), type]
    )
    def test_what_has_no_schema_is_refused_before_anything_runs(self, output_type: Any) -> None:
        script = answering(HIGH)
        with pytest.raises(InputError, match="output_type"):
            run(script, output_type)
        assert script.prompts == []

    def test_a_schema_that_is_none_is_refused_before_anything_runs(self) -> None:
        with pytest.raises(ValidationError, match="JSON Schema is wrong at type"):
            SwarmOptions(answer_schema={"type": "nonsense"})


class TestOfASchemaAlone:
    def test_the_answer_fits_it_and_has_no_object(self) -> None:
        script = answering(UNFIT, LOW)
        schema = Peak.model_json_schema()
        options = SwarmOptions(memory=False, answer_schema=schema)
        result = run(script, None, options=options)
        assert result.status == "completed"
        assert (result.answer, result.output) == (LOW, None)

    def test_a_type_around_a_run_without_one_is_not_its_own(self) -> None:
        options = SwarmOptions(memory=False, answer_schema={"type": "object"})
        with called_with(answer_type=TypeAdapter(Peak)):
            result = run(answering(LOW), None, options=options)
        assert result.status == "completed"
