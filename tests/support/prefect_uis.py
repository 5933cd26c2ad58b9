"""Both UIs of Prefect in a headless Chromium, as a person uses them."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from browsers import browser
from prefect.settings import get_current_settings

__all__ = ["UIS", "Ui", "in_browser"]

UIS = ("older", "newer")
_WAIT_MS = 60_000
_PRESSES = 6
_BETWEEN_PRESSES_MS = 2_000


def _if_soon() -> suppress:
    """Go on where what is waited for doesn't come in time."""
    from playwright.sync_api import TimeoutError as NotYetError

    return suppress(NotYetError)


@contextmanager
def in_browser(which: str) -> Generator[Ui]:
    """Open one of the UIs of the server that the settings name."""
    api = get_current_settings().api.url
    assert api is not None
    with browser() as running:
        page = running.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(_WAIT_MS)
        address = api.removesuffix("/api") + ("/v2" if which == "newer" else "")
        yield Ui(page, address, is_newer=which == "newer")


@dataclass(frozen=True, slots=True)
class Ui:
    """A page of one of the UIs, and what a person does there."""

    page: Any
    address: str
    is_newer: bool

    def open_form(self, flow_run_id: UUID) -> None:
        """Open the form of a flow run that waits."""
        self.page.goto(f"{self.address}/runs/flow-run/{flow_run_id}")
        if self.is_newer:
            # The page has menus of its own once the run is there.
            self.page.get_by_text("Paused").or_(self.page.get_by_text("Suspended")).first.wait_for()
            self.page.locator("button[aria-haspopup=menu]").last.click()
            self.page.get_by_role("menuitem", name="Resume").click()
        else:
            self.page.get_by_role("button", name="Resume").first.click()
        self.page.get_by_text("Decision", exact=True).first.wait_for()

    def text(self, words: str) -> str:
        """Return what the form shows, once it has these words: a text comes after the fields."""
        self._form.get_by_text(words).first.wait_for()
        return str(self._form.inner_text())

    def unfold(self) -> None:
        """Show what is folded."""
        self._form.locator("summary").click()

    def choose(self, choice: str) -> None:
        """Choose a decision."""
        if self.is_newer:
            self._form.get_by_role("button", name="Select Decision").click()
            self.page.get_by_role("option", name=choice).click()
            return
        # A click of a script opens the list and closes it.
        self._form.locator(".p-select-button__control").first.focus()
        self.page.keyboard.press("Space")
        self.page.locator(".p-select-option", has_text=choice).click()

    def write(self, title: str, text: str) -> None:
        """Write into the field of a title."""
        if self.is_newer and "plan" in title:
            self._form.locator(".cm-content").click()
            self.page.keyboard.insert_text(text)
            return
        if self.is_newer:
            self.page.get_by_label(title).fill(text)
            return
        field = self.page.locator(".schema-form-property", has_text=title).last
        field.locator("textarea, input").first.fill(text)

    def press(self) -> None:
        """Press the form's button."""
        self._button.click()

    def wait_until_taken(self) -> None:
        """Return once the form has closed; a busy page may take a press before what was written."""
        for _ in range(_PRESSES):
            with _if_soon():
                self._form.wait_for(state="detached", timeout=_WAIT_MS / _PRESSES)
                return
            with _if_soon():
                self._button.click(timeout=_WAIT_MS / _PRESSES)
        self._form.wait_for(state="detached")

    def wait_for(self, text: str) -> None:
        """Return once the page shows a text."""
        self.page.get_by_text(text).first.wait_for()

    def open_run_form(self, deployment_id: UUID) -> None:
        """Open the form that a run of a deployment is started with."""
        self.page.goto(f"{self.address}/deployments/deployment/{deployment_id}/run")
        self.page.get_by_text("Memory, pages and the rest").wait_for()

    def open_block_form(self, slug: str) -> None:
        """Open the form that a block of a type is made with."""
        self.page.goto(f"{self.address}/blocks/catalog/{slug}/create")
        self.page.get_by_text("Memory, pages and the rest").wait_for()

    def save_block(self, name: str) -> None:
        """Give the block a name, press the form's button, and return once the server has it."""
        if self.is_newer:
            self.page.get_by_label("Name", exact=True).fill(name)
        else:
            self.page.locator("input").first.fill(name)
        button = self.page.get_by_role("button", name="Save" if self.is_newer else "Create").last
        with self.page.expect_response("**/block_documents/") as made:
            button.click()
        assert made.value.ok, made.value.text()

    def submit_run(self, **fields: str) -> dict[str, Any]:
        """Press the form's button, again where page or server was too busy; return the flow run.

        Args:
            fields: What is to be in fields, by their titles. A page that is late may take back
                what was written.
        """
        answers: list[Any] = []

        def note(answer: Any) -> None:
            answers.append(answer)

        self.page.on("response", note)
        for _ in range(_PRESSES):
            with (
                _if_soon(),
                self.page.expect_response("**/create_flow_run", timeout=_WAIT_MS / 2),
            ):
                for title, text in fields.items():
                    self.write(title, text)
                self._submit()
            # An answer may come after its time, and the page is another one then.
            made = [each for each in answers if each.url.endswith("/create_flow_run")]
            if made and made[-1].ok:
                return dict(made[-1].json())
            self.page.wait_for_timeout(_BETWEEN_PRESSES_MS)
        statuses = [(each.status, each.url) for each in answers]
        shown = self.page.inner_text("body")
        raise AssertionError(f"{_PRESSES} presses made no flow run: {statuses}\n{shown}")

    def submit_in_vain(self, why: str) -> None:
        """Press the form's button until the page says why it can't be."""
        for _ in range(_PRESSES):
            self._submit()
            with _if_soon():
                self.page.get_by_text(why).first.wait_for(timeout=_WAIT_MS / _PRESSES)
                return
        self.wait_for(why)

    def _submit(self) -> None:
        self.page.get_by_role("button", name="Submit").last.click()

    def open_group(self) -> None:
        """Show the options of the form's first group."""
        if self.is_newer:
            self.page.get_by_role("tab", name="Other").first.click()
        else:
            self.page.get_by_text("Other", exact=True).first.click()
        self.page.get_by_text("worker (Optional)").wait_for()

    def height(self) -> int:
        """Return how high all of the page is, in pixels."""
        heights = "[...document.querySelectorAll('*')].map(each => each.scrollHeight)"
        return int(self.page.evaluate(f"Math.max(...{heights})"))

    @property
    def _button(self) -> Any:
        name = "Resume" if self.is_newer else "Submit"
        return self.page.get_by_role("button", name=name, exact=True).last

    @property
    def _form(self) -> Any:
        return self.page.get_by_role("dialog").last
