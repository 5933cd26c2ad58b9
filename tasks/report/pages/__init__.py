"""The pages of a run, made from its view: the answer, the plan, the timeline, and one of each step.

Pure. What draws them is elsewhere: as Markdown, on a terminal, or as HTML.
"""

from __future__ import annotations

from .answer import answer_page
from .parts import step_page_names
from .plan import plan_page
from .step import step_page
from .timeline import timeline_page

__all__ = ["answer_page", "plan_page", "step_page", "step_page_names", "timeline_page"]
