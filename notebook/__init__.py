"""How a result shows itself in a notebook."""

from __future__ import annotations

from importlib import import_module

__all__ = ["ShownInNotebook"]


class ShownInNotebook:
    """Has the package's `report_html` draw it, which stands above all that is drawn."""

    def _repr_html_(self) -> str:
        # By its public name: an import would lead from what a run leaves to what shows it.
        return import_module(__name__.rpartition(".")[0]).report_html(self, fragment=True)
