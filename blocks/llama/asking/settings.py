"""What a request to a local model may set."""

from __future__ import annotations

from collections.abc import Callable

from pydantic_ai.settings import ModelSettings

__all__ = ["LlamaCppSettings"]


class LlamaCppSettings(ModelSettings, total=False):
    """Settings of a request to a local model, beside those every model has."""

    llamacpp_grammar: str
    """GBNF that the answer obeys; its start rule is `root`. A call may be written instead where
    the model has tools."""

    llamacpp_json_schema: str
    """JSON Schema that the answer is to fit, as far as a grammar can say it; `{}` is any object.
    A call may be written instead where the model has tools."""

    llamacpp_repeat_penalty: float
    """Divides the logits of what was written lately; 1 is none. Free text alone is penalised."""

    llamacpp_adapter: str
    """A GGUF file with a LoRA adapter that is applied to this answer alone."""

    llamacpp_begun: str
    """The beginning of the answer, which is written on; the response has what follows alone."""

    llamacpp_priority: float
    """Which of several waiting requests starts first; see `GenerateRequest.priority`."""

    llamacpp_watch: Callable[[str], str]
    """Called with the text so far every few tokens, returns why to stop; see
    `GenerateRequest.watch`. A stopped text has `aborted` among its provider details."""
