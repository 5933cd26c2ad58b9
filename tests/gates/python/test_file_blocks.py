"""Several files in one text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.gates.python.layout import file_blocks, path_problem

PART = st.from_regex(r"[A-Za-z0-9_]{1,8}", fullmatch=True)
PATH = st.builds("{}/{}.py".format, PART, PART)
LINE = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20)
BODY = st.lists(LINE.filter(lambda line: "```" not in line), max_size=5)


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    found = file_blocks(text)
    assert found.files or found.problems


@given(st.dictionaries(PATH, BODY, min_size=1, max_size=4))
def test_what_is_written_as_asked_is_read_as_it_was(files: dict[str, list[str]]) -> None:
    parts = [
        "\n".join(["Next:", "", path, "```python", *lines, "```", ""])
        for path, lines in files.items()
    ]
    found = file_blocks("\n".join(parts))
    assert found.problems == ()
    assert {file.path: file.text for file in found.files} == {
        path: "".join(f"{line}\n" for line in lines) for path, lines in files.items()
    }


@given(st.text())
def test_a_path_that_is_taken_stays_below_its_folder(path: str) -> None:
    if not path_problem(path):
        assert not path.startswith("/")
        assert not {"", ".", ".."} & set(path.split("/"))
        assert not set("\\\0\n: ") & set(path)


@pytest.mark.parametrize(
    "line",
    [
        *("src/a.py", "`src/a.py`", "**src/a.py**", "### src/a.py", "File: src/a.py", "src/a.py:"),
        *("**`src/a.py`**:", "2. `src/a.py`", "- src/a.py", "# File: src/a.py", "src/a.py\n"),
    ],
)
def test_a_path_may_be_written_in_these_ways(line: str) -> None:
    assert [file.path for file in file_blocks(f"{line}\n```python\nx = 1\n```").files] == [
        "src/a.py"
    ]


def test_a_dunder_keeps_its_underscores() -> None:
    assert file_blocks("__init__.py\n```\n```").files[0].path == "__init__.py"


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "../a.py", "a/../../b.py", "~/a.py", "C:/a.py", "a\\b.py", "a//b.py", "./a.py"],
)
def test_a_path_that_leaves_the_folder_is_refused(path: str) -> None:
    found = file_blocks(f"x.py\n```\n```\n{path}\n```python\nx = 1\n```")
    assert len(found.problems) == 1
    assert found.problems[0].line == 5


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("no file at all", "no block with a path"),
        ("Here it is:\n```python\nx = 1\n```", "no path on the line before"),
        ("a.py\n```\n```\na.py\n```\n```", "there twice"),
        ("a.b\n```\n```\na.b/c.py\n```\n```", "both a file and a folder"),
        ("a.py\n```python\nx = 1", "has no end"),
    ],
)
def test_what_is_wrong_is_said(text: str, problem: str) -> None:
    assert problem in file_blocks(text).problems[0].message


def test_a_block_without_a_path_is_an_illustration() -> None:
    text = "a.py\n```python\nx = 1\n```\nRun it:\n```sh\npython a.py\n```"
    assert [file.path for file in file_blocks(text).files] == ["a.py"]
    assert file_blocks(text).problems == ()


def test_a_longer_fence_holds_shorter_ones() -> None:
    text = "README.md\n````md\n```sh\nls\n```\n````"
    assert file_blocks(text).files[0].text == "```sh\nls\n```\n"


def test_a_file_knows_the_line_it_stands_behind() -> None:
    assert file_blocks("Here:\n\na.py\n```\nx\n```").files[0].before == 4
