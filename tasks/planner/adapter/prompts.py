"""What a model is told that was trained to plan."""

from __future__ import annotations

from pydantic_ai.messages import ModelMessage, ModelRequest, SystemPromptPart, UserPromptPart

__all__ = ["TRAINED", "trained_messages"]

TRAINED = "Split the objective into steps."
"""All that a model is told that was trained to plan: it has the rest from its training."""


def trained_messages(objective: str) -> list[ModelMessage]:
    """Return the conversation whose next turn is a trained model's plan; no examples.

    Training writes its prompts with this, so that a model is asked as it was taught.
    """
    lines = (" ".join(line.split()) for line in objective.strip().splitlines())
    return [ModelRequest([SystemPromptPart(TRAINED), UserPromptPart("\n".join(lines))])]
