"""A shell, a data folder and a server that stands in for models, for the commands of the docs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from documented.commands import Command
from documented.scenes import Kept, lay_out, set_scene
from documented.shape import differences, ids_in
from documented.shell import Shell, shell
from documented.stand_in import Answering, answer
from provider_server import provider_server

from .typed import EMBEDDED, typed


@dataclass(frozen=True, slots=True)
class Typist:
    """Types commands of a page as its reader would."""

    shell: Shell
    server: str
    scene: Callable[[str], list[str]]

    def type(self, command: str, runs: list[str]) -> tuple[int, str]:
        """Return the exit code and what was written."""
        done = self.shell.run(typed(command, server=self.server, runs=runs))
        return done.code, done.output

    def problems(
        self,
        command: Command,
        ids: dict[str, str],
        runs: list[str],
        *,
        code: int = 0,
        form: str = "{command}",
    ) -> list[str]:
        """Type a command of a session with today's ids; return how it differs from the page.

        Args:
            command: The page's.
            ids: The page's ids with those that they stand for; new ones are added. The newest of
                the runs stands for an unknown one.
            runs: Those of the scene.
            code: The exit code that is right.
            form: What is typed around it.
        """
        text = command.text
        for shown in ids_in(text):
            text = text.replace(shown, ids.setdefault(shown, runs[-1] if runs else shown))
        found, output = self.type(form.format(command=text), runs)
        wrong = differences(command.output or "", output, ids)
        if found != code:
            wrong.append(f"it ends with {found}")
        return [f"{command.where}: {problem}" for problem in [*wrong, *([output] if wrong else [])]]


@pytest.fixture(scope="session")
def answering() -> Answering:
    """What the server of a session answers."""
    return Answering()


@pytest.fixture
def models(answering: Answering) -> Iterator[Answering]:
    """What the models of a test answer."""
    yield answering
    answering.reply = answer


@pytest.fixture(scope="session")
def model_server(answering: Answering) -> Iterator[str]:
    """The address of a server that answers whatever a model is asked."""
    with provider_server(answering) as server:
        yield server.url


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """Data folders of scenes."""
    return Kept(tmp_path_factory.mktemp("scenes"))


@pytest.fixture
def typist(
    tmp_path: Path,
    swarm_home: Path,
    prefect_server: None,
    model_server: str,
    kept: Kept,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Typist]:
    """A reader in a folder with the files that pages name, and models at the stand-in server."""
    del prefect_server
    for name, value in {
        "OPENAI_API_KEY": "sk-of-nobody",
        "OPENAI_BASE_URL": model_server,
        "MY_SERVER_KEY": "sk-of-nobody",
        "MODEL_KEY": "sk-of-nobody",
        "PREFECT_INTEGRATIONS_SWARM_MODEL": f"openai:{EMBEDDED}@{model_server}",
        "BROWSER": "true",
    }.items():
        monkeypatch.setenv(name, value)
    (folder := tmp_path / "reader").mkdir()
    lay_out(folder)
    with shell(folder) as opened:
        yield Typist(opened, model_server, lambda name: set_scene(name, opened, swarm_home, kept))
