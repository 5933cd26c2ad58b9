"""Errors in the shape that OpenAI's API gives them."""

from __future__ import annotations

from typing import Any

from ..errors import ContextTooSmallError, InputError, SwarmError

__all__ = ["ApiError", "ClosingError", "api_error"]


class ApiError(SwarmError):
    """A request that can't be answered, with its status and what OpenAI's clients read of it."""

    def __init__(
        self,
        problem: str,
        fix: str = "",
        status: int = 400,
        code: str | None = None,
        param: str | None = None,
    ) -> None:
        super().__init__(problem, fix)
        self.args = (problem, fix, status, code, param)
        self.status = status
        self.code = code
        self.param = param

    def body(self) -> dict[str, Any]:
        """Return the error as JSON."""
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        if self.status == 401:
            kind = "authentication_error"
        return {
            "error": {"message": str(self), "type": kind, "param": self.param, "code": self.code}
        }


class ClosingError(SwarmError):
    """The server is being ended, so that a request was stopped or not begun."""


def api_error(error: BaseException) -> ApiError:
    """Say what an error means to a client."""
    match error:
        case ApiError():
            return error
        case ClosingError():
            return ApiError(error.problem, error.fix, 503, "server_closing")
        case ContextTooSmallError():
            return ApiError(error.problem, error.fix, 400, "context_length_exceeded", "messages")
        case InputError():
            return ApiError(error.problem, error.fix, 400, "invalid_value")
        case SwarmError():
            return ApiError(error.problem, error.advice, 500, "model_failed")
        case _:
            return ApiError(f"The server failed: {error!r}.", "Try again.", 500, "internal_error")
