"""What gates are asked to look at, and what they found. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from ..data_types import Frozen
from ..gates import GateResult, Subject

__all__ = ["Inspection", "Verdicts"]


class Inspection(Frozen):
    """What some gates are to look at.

    Attributes:
        key: The cache key: the attempt's that made the artifact, and a hash of all that is checked.
        gates: Their names, `?` behind those that the artifact need not pass.
    """

    key: str
    gates: tuple[str, ...]
    subject: Subject

    @classmethod
    def of(cls, attempt: str, gates: Sequence[str], subject: Subject) -> Inspection:
        """Return the inspection of what an attempt made; `attempt` is its own cache key."""
        # Not the subject's own digest: a text may have half of a character, which is not UTF-8.
        checked = json.dumps([*gates, subject.model_dump(mode="json")])
        key = f"{attempt}.gates.{hashlib.sha256(checked.encode()).hexdigest()[:16]}"
        return cls(key=key, gates=tuple(gates), subject=subject)


class Verdicts(Frozen):
    """What the gates of one inspection found; those behind a failure that stops found nothing."""

    results: tuple[GateResult, ...]
