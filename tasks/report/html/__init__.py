"""A run's pages as one HTML document, or as a part of a notebook, that fetches nothing. Pure."""

from __future__ import annotations

from .document import fragment_html, page_html, report_html

__all__ = ["fragment_html", "page_html", "report_html"]
