"""The layout of Python texts as files."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prefect_swarm.gates.python.inspection import Facts, read
from prefect_swarm.gates.python.layout import Layout, Piece, lay_out


def piece(text: str, name: str = "S1", *, own: bool = False, path: str | None = None) -> Piece:
    facts = read(text)
    assert isinstance(facts, Facts)
    return Piece(name, text, facts, own, path)


def laid(own: str, *others: str) -> Layout:
    rest = [piece(text, f"S{n}") for n, text in enumerate(others, 1)]
    return lay_out([piece(own, "artifact", own=True), *rest], frozenset({"numpy"}))


def paths(layout: Layout) -> list[str]:
    return [placed.path for placed in layout.placed]


ADD, SUB = "def add(a, b): return a + b\n", "def sub(a, b): return a - b\n"
TEST = "def test_it(): assert add(1, 1) == 2\n"


def test_code_without_an_import_is_the_solution() -> None:
    assert paths(laid(ADD)) == ["solution.py"]


@pytest.mark.parametrize(
    ("imports", "path"),
    [
        ("from sums import add\n", "sums.py"),
        ("from app.core.sums import add\n", "app/core/sums.py"),
        ("import sums\nadd = sums.add\n", "sums.py"),
        ("from sums import plus as add\n", "sums.py"),
    ],
)
def test_code_is_the_module_that_its_tests_import(imports: str, path: str) -> None:
    layout = laid(ADD, imports + TEST)
    assert paths(layout) == [path, "test_s1.py"]
    assert (1, 0) in layout.links


@pytest.mark.parametrize("module", ["json", "os.path", "pytest", "numpy", "__main__"])
def test_what_is_there_anyway_is_never_replaced(module: str) -> None:
    layout = laid(ADD, f"from {module} import loads\n{TEST}")
    assert paths(layout) == ["solution.py", "test_s1.py"]


def test_code_that_is_imported_under_two_names_has_both() -> None:
    layout = laid(ADD, f"from sums import add\n{TEST}", f"from app import add\n{TEST}")
    assert paths(layout)[0] == "sums.py"
    assert "sys.modules['sums']" in layout.glue["app.py"]


def test_a_module_that_two_pieces_make_up_passes_on_the_names_of_both() -> None:
    layout = laid(f"from calc import add, sub\n{TEST}", ADD, SUB)
    assert paths(layout) == ["test_solution.py", "s1.py", "s2.py"]
    assert layout.glue == {"calc.py": "from s1 import add\nfrom s2 import sub\n"}
    assert layout.links == {(0, 1), (0, 2)}


def test_a_module_in_another_makes_it_a_package() -> None:
    layout = laid(f"from app import add\nfrom app.more import sub\n{TEST}", ADD, SUB)
    assert paths(layout)[1:] == ["app/__init__.py", "app/more.py"]


def test_names_that_tests_only_use_are_imported_for_them() -> None:
    layout = laid("'''Sums.'''\n" + TEST, ADD)
    placed = layout.placed[0]
    assert placed.text == f"'''Sums.'''\nfrom s1 import add\n{TEST}"
    assert [placed.line(n) for n in (1, 2, 3)] == [1, None, 2]


def test_code_gets_no_names_that_it_does_not_import() -> None:
    assert laid("def more(x): return add(x, 1)\n", ADD).placed[0].text.startswith("def more")


def test_the_artifact_comes_before_what_it_was_made_from() -> None:
    layout = laid(ADD, ADD, f"from sums import add\n{TEST}")
    assert paths(layout) == ["sums.py", "s1.py", "test_s2.py"]


def test_code_with_tests_of_its_own_is_code() -> None:
    layout = laid(ADD + "def test_own(): assert add(0, 1)\n", ADD, f"from sums import add\n{TEST}")
    assert paths(layout) == ["sums.py", "s1.py", "test_s2.py"]


def test_of_two_earlier_ones_the_later_counts() -> None:
    assert paths(laid(f"from sums import add\n{TEST}", ADD, ADD))[1:] == ["s1.py", "sums.py"]


def test_a_module_of_no_file_is_missing() -> None:
    layout = laid(f"from shop import Basket\nimport numpy\n{TEST}")
    assert layout.missing == {0: ("shop",)}


def test_files_stay_where_they_are_and_their_folder_is_searched() -> None:
    sums = piece(ADD, path="src/app/sums.py", own=True)
    tests = piece(f"from app.sums import add\n{TEST}", path="tests/test_sums.py", own=True)
    layout = lay_out([sums, tests])
    assert paths(layout) == ["src/app/sums.py", "tests/test_sums.py"]
    assert [placed.module for placed in layout.placed] == ["app.sums", "tests.test_sums"]
    assert layout.roots == ("", "src")
    assert layout.glue == {}


MODULES = st.sampled_from(["a", "b", "a.c", "json", "numpy", "d.e.f"])
FUNCTIONS = st.sampled_from(["f", "g", "h", "test_i"])
TEXTS = st.builds(
    "{}{}x = {}\n".format,
    st.lists(st.builds("from {} import {}\n".format, MODULES, FUNCTIONS), max_size=3).map("".join),
    st.lists(st.builds("def {}(): ...\n".format, FUNCTIONS), max_size=3).map("".join),
    FUNCTIONS,
)


@settings(max_examples=40)
@given(st.lists(TEXTS, min_size=1, max_size=5))
def test_every_piece_has_a_file_of_its_own_that_still_is_python(texts: list[str]) -> None:
    layout = laid(*texts)
    found = [*paths(layout), *layout.glue]
    assert len(set(found)) == len(found) == len(layout.texts())
    assert not any(other.startswith(f"{path}/") for path in found for other in found)
    for text in layout.texts().values():
        assert isinstance(read(text), Facts)
    for placed in layout.placed:
        lines = placed.text.split("\n")
        own = [line for n, line in enumerate(lines, 1) if placed.line(n) is not None]
        assert own == placed.piece.text.split("\n")
