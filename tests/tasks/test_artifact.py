"""An artifact is taken out of what a model wrote by explicit rules."""

from __future__ import annotations

import pytest
from prefect_swarm.task_ir import OutputKind
from prefect_swarm.tasks.artifact import extract


@pytest.mark.parametrize(
    ("kind", "text", "artifact"),
    [
        ("text", "```\nas it is\n```", "```\nas it is\n```"),
        ("json", '{"a": 1}', '{"a": 1}'),
        ("json", 'Here:\n```json\n{"a": 1}\n```\nDone.', '{"a": 1}'),
        ("json", 'Here:\n```\n{"a": 1}\n```', '{"a": 1}'),
        ("json", "no JSON at all", "no JSON at all"),
        pytest.param("json", "[" * 100_000, "[" * 100_000, id="nested too deeply to read"),
        pytest.param("json", "9" * 5_000, "9" * 5_000, id="a number too long to read"),
        ("python", "```python\nx = 1\n```\n```python\ny = 2\n```", "x = 1"),
        ("python", "```sh\nls\n```\n```py\nx = 1\n```", "x = 1"),
        ("shell", "```bash\nls -l\n```", "ls -l"),
        ("shell", "ls -l", "ls -l"),
    ],
)
def test_extraction(kind: OutputKind, text: str, artifact: str) -> None:
    assert extract(text, kind) == artifact
