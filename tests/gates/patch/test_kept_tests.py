"""A patch that changes, skips, deletes or weakens a test is found; one that adds to them isn't."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from patch_project import BASE
from prefect_swarm.gates.patch.kept_tests import is_check_configuration, weakened_tests

PATH = "tests/test_a.py"
FILE = '''\
"""Tests of a."""

import unittest

import pytest
from shop import Cup, price

LIMIT = 3
CASES = [(1, 2), (3, 4)]


def made(count):
    return Cup(count)


@pytest.fixture
def cup():
    return made(1)


def test_price(cup):
    value = price(cup)
    assert value == LIMIT
    assert value > 0


@pytest.mark.parametrize(("count", "cost"), [(1, 2), (3, 4)])
def test_costs(count, cost):
    assert price(made(count)) == cost


@pytest.mark.parametrize(("count", "cost"), CASES)
def test_more_costs(count, cost):
    assert price(made(count)) == cost


def test_error():
    with pytest.raises(ValueError):
        price(None)


class TestCup:
    def test_full(self, cup):
        assert cup.count == 1


class Old(unittest.TestCase):
    def setUp(self):
        self.cup = made(2)

    def test_two(self):
        self.assertEqual(self.cup.count, 2)
'''
PRICE = "def test_price(cup):\n"
VALUE = "    value = price(cup)\n"
COSTS = "[(1, 2), (3, 4)])\ndef test_costs"


def said(
    before: Mapping[str, str], after: Mapping[str, str | None], may_change: tuple[str, ...] = ()
) -> str:
    found = weakened_tests(
        {path: text.encode() for path, text in before.items()},
        {path: None if text is None else text.encode() for path, text in after.items()},
        may_change,
    )
    return "\n".join(each.message for each in found)


def edited(*replaced: tuple[str, str], more: str = "") -> str:
    text = FILE
    for old, new in replaced:
        assert old in text
        text = text.replace(old, new)
    return text + more


CHANGED: dict[str, tuple[str, str]] = {
    "a function is gone": (
        edited((PRICE, "def tes_price(cup):\n")),
        f"{PATH}: test_price was deleted",
    ),
    "a method is gone": (
        edited(("    def test_full(self, cup):\n        assert cup.count == 1\n", "    pass\n")),
        "TestCup::test_full was deleted",
    ),
    "a class is gone": (edited(("class TestCup:", "class Cups:")), "TestCup was deleted"),
    "a body is another one": (edited(("price(None)", "price('')")), "test_error was changed"),
    "an assert is gone": (edited(("    assert value > 0\n", "")), "test_price was weakened"),
    "an assert is true": (
        edited(("assert value == LIMIT", "assert value == value")),
        "test_price was weakened: a check in it is always true",
    ),
    "an assert is an or": (
        edited(("assert value == LIMIT", "assert value == LIMIT or 1")),
        "test_price was weakened",
    ),
    "an assert is a tuple": (
        edited(("assert value == LIMIT", "assert (value == LIMIT, 1)")),
        "test_price was weakened",
    ),
    "an assert compares less": (
        edited(("assert value == LIMIT", "assert value >= LIMIT - 5")),
        "test_price was weakened",
    ),
    "a method checks less": (
        edited(("self.assertEqual(self.cup.count, 2)", "self.cup")),
        "Old::test_two was weakened",
    ),
    "any exception will do": (
        edited(("raises(ValueError)", "raises(Exception)")),
        "test_error was weakened: it accepts any exception",
    ),
    "an error is caught": (
        edited(
            (
                VALUE,
                f"{VALUE}    try:\n        value = price(cup)\n    except OSError:\n        pass\n",
            )
        ),
        "test_price was weakened: an error in it is caught",
    ),
    "an error is suppressed": (
        edited((VALUE, "    with suppress(Exception):\n        value = price(cup)\n")),
        "test_price was weakened",
    ),
    "a check is under a condition": (
        edited(("    assert value > 0", "    if value:\n        assert value > 0")),
        "test_price was weakened: a check of it is under a condition",
    ),
    "it ends early": (edited((VALUE, f"    return\n{VALUE}")), "test_price was weakened"),
    "it is skipped": (edited((PRICE, f"@pytest.mark.skip\n{PRICE}")), "test_price was skipped"),
    "it is skipped by another name": (
        edited((PRICE, f"@unittest.skipIf(1, '')\n{PRICE}")),
        "test_price was skipped",
    ),
    "it may fail": (edited((PRICE, f"@pytest.mark.xfail\n{PRICE}")), "test_price was skipped"),
    "it skips itself": (
        edited((VALUE, f"    pytest.skip('')\n{VALUE}")),
        "test_price was skipped",
    ),
    "it has a mark": (edited((PRICE, f"@pytest.mark.slow\n{PRICE}")), "test_price was changed"),
    "a class is skipped": (
        edited(("class TestCup:", "@pytest.mark.skip\nclass TestCup:")),
        "TestCup was skipped",
    ),
    "cases are gone": (
        edited((COSTS, COSTS.replace(", (3, 4)", ""))),
        "test_costs was weakened: cases of it are gone",
    ),
    "a case is another one": (
        edited((COSTS, COSTS.replace("(3, 4)", "(3, 5)"))),
        "test_costs was weakened",
    ),
    "a case is skipped": (
        edited((COSTS, COSTS.replace("(3, 4)", "pytest.param(3, 4, marks=pytest.mark.skip)"))),
        "test_costs was skipped",
    ),
    "listed cases are gone": (edited(("CASES = [(1, 2), ", "CASES = [")), "CASES was changed"),
    "a constant is another one": (edited(("LIMIT = 3", "LIMIT = 2")), "LIMIT was changed"),
    "a helper is another one": (
        edited(("return Cup(count)", "return Cup(1)")),
        "made was changed",
    ),
    "a fixture is another one": (edited(("return made(1)", "return 1")), "cup was changed"),
    "an import is another one": (
        edited(("from shop import Cup, price", "from fake import Cup, price")),
        "price was changed",
    ),
    "setUp is another one": (edited(("made(2)", "made(1)")), "Old::setUp was changed"),
    "a base class is another one": (
        edited(("(unittest.TestCase)", "(unittest.IsolatedAsyncioTestCase)")),
        "Old was changed: its base classes are others",
    ),
    "it is async": (edited((PRICE, f"async {PRICE}")), "test_price was changed"),
    "it is under a condition": (
        edited(("def test_error():\n", "if 0:\n  def test_error():\n")),
        "test_error was skipped: it is there under a condition alone",
    ),
    "it is defined again": (
        edited(more="\n\ndef test_price():\n    pass\n"),
        "test_price was changed: its name is bound again",
    ),
    "a method is defined again": (
        edited(("class Old", "    def test_full(self):\n        pass\n\n\nclass Old")),
        "TestCup::test_full was changed",
    ),
    "it is nothing": (edited(more="\ntest_price = None\n"), "test_price was deleted"),
    "it is deleted": (edited(more="\ndel test_price\n"), "test_price was deleted by del"),
    "a loop deletes": (
        edited(more="\nfor x in list(globals()):\n    del globals()[x]\n"),
        "x was added",
    ),
    "a star is imported": (edited(more="\nfrom fakes import *\n"), "the file was changed"),
    "a mark for all": (edited(more="\npytestmark = []\n"), "pytestmark was added"),
    "no tests at all": (edited(more="\n__test__ = False\n"), "__test__ was added"),
    "a class without tests": (
        edited(("class TestCup:\n", "class TestCup:\n    __test__ = False\n")),
        "TestCup::__test__ was added",
    ),
    "a class that isn't collected": (
        edited(("class TestCup:\n", "class TestCup:\n    def __init__(self): ...\n")),
        "TestCup::__init__ was added",
    ),
    "a check is replaced": (
        edited(("    def setUp", "    def assertEqual(self, *_): ...\n\n    def setUp")),
        "Old::assertEqual was added",
    ),
    "the file is skipped": (
        edited(more="\npytest.skip('', allow_module_level=True)\n"),
        "the file was changed",
    ),
    "an error skips the file": (
        edited(more="\nraise unittest.SkipTest('')\n"),
        "the file was changed",
    ),
    "the process ends": (edited(more="\nimport sys\nsys.exit(0)\n"), "the file was changed"),
    "a new test ends the process": (
        edited(more="\ndef test_z():\n    import os\n    os._exit(0)\n"),
        "test_z was added: it ends the process at once",
    ),
    "a new test replaces the product": (
        edited(more="\ndef test_z():\n    import shop\n    shop.price = len\n"),
        "test_z was added: it changes something that it imports",
    ),
    "a new value replaces the product": (
        edited(more="\nX = setattr(Cup, 'count', 1)\n"),
        "X was added",
    ),
    "a new test replaces it by another name": (
        edited(more="\ndef test_z():\n    import shop\n    other = shop\n    other.price = 1\n"),
        "test_z was added: it changes something that it imports",
    ),
    "a new test changes a class": (
        edited(more="\ndef test_z():\n    Cup.count = 1\n"),
        "test_z was added: it changes something that it imports",
    ),
    "a new test empties cases": (
        edited(more="\ndef test_z():\n    CASES.clear()\n"),
        "test_z was added: it changes a name that tests there use",
    ),
    "a new class changes another": (
        edited(more="\nclass New:\n    TestCup.test_full = None\n"),
        "New was added",
    ),
    "a test is no test": (
        edited(more="\ntest_price.__test__ = False\n"),
        "the file was changed",
    ),
    "a value changes a test": (
        edited(more="\nX = print(test_price)\n"),
        "X was added: it uses test_price when the file is loaded",
    ),
    "a default value is the test": (
        edited(more="\ndef new(x=(test_price := None)): ...\n"),
        "test_price was changed",
    ),
    "the run ends well": (
        edited(more="\ndef test_z():\n    pytest.exit('', returncode=0)\n"),
        "test_z was added: it ends the process at once",
    ),
    "the run's failures are none": (
        edited(more="\ndef test_z(request):\n    request.session.testsfailed = 0\n"),
        "test_z was added: it reaches into the run of all tests",
    ),
    "a fixture with what can't be seen": (
        edited(more="\n@pytest.fixture(**X)\ndef new(): ...\n"),
        "new was added: a new fixture that every test there uses",
    ),
    "a plugin": (edited(more="\npytest_plugins = ['x']\n"), "pytest_plugins was added"),
    "a hook": (
        edited(more="\ndef pytest_generate_tests(metafunc): ...\n"),
        "pytest_generate_tests was added: a new hook",
    ),
    "a fixture for all": (
        edited(more="\n@pytest.fixture(autouse=True)\ndef a(): ...\n"),
        "a was added: a new fixture that every test there uses",
    ),
    "a fixture by another name": (
        edited(more="\n@pytest.fixture(name='cup')\ndef a(): ...\n"),
        "a was added: it takes the place of the fixture cup",
    ),
    "a builtin is replaced": (edited(more="\ndef sorted(x): ...\n"), "sorted was added"),
    "setUp for all": (edited(more="\ndef setup_function(): ...\n"), "setup_function was added"),
    "it can't be read": (edited(more="\ndef\n"), f"{PATH}: tests there can't be compared"),
    "it is too large": (edited(more="#" * (1 << 20)), "tests there can't be compared"),
    "it is too deep": (edited(more="x = " + "(" * 500), "tests there can't be compared"),
}


@pytest.mark.parametrize("name", CHANGED)
def test_what_a_patch_does_to_a_test_is_named(name: str) -> None:
    text, expected = CHANGED[name]
    assert expected in said({PATH: FILE}, {PATH: text})


@pytest.mark.parametrize("name", CHANGED)
def test_nothing_is_said_of_a_test_that_may_change(name: str) -> None:
    assert said({PATH: FILE}, {PATH: CHANGED[name][0]}, ("tests/**",)) == ""


@pytest.mark.parametrize(
    "text",
    [
        edited(more="\n\ndef test_new(cup):\n    assert price(cup)\n"),
        edited(more="\n\nclass TestNew:\n    def test_a(self):\n        assert 1\n"),
        edited(more="\n\n@pytest.mark.skip\ndef test_new():\n    assert 1\n"),
        edited(("import pytest\n", "import json\nimport pytest\n"), more="\nX = json.loads('1')\n"),
        edited(("import pytest\n", "import shop.more\nimport pytest\n")),
        edited(("LIMIT = 3", "LIMIT = 3\nHIGHER = 4")),
        edited(more="\n\ndef test_new(cup):\n    price = made(1)\n    price.count = 2\n"),
        edited(more="\n\ndef test_new(monkeypatch):\n    monkeypatch.setattr(Cup, 'a', 1)\n"),
        edited(more="\n\nclass TestMore(TestCup):\n    def test_more(self, cup): ...\n"),
        edited(more="\n\n@pytest.fixture\ndef mug():\n    return made(4)\n"),
        edited(more="\n\n@pytest.mark.parametrize('cup', [1])\ndef test_new(cup): ...\n"),
        edited((COSTS, COSTS.replace("(3, 4)", "(2, 3), (3, 4)"))),
        edited(("CASES = [(1, 2), ", "CASES = [(1, 2), (5, 6), ")),
        edited(("    def test_two", "    def test_none(self): ...\n\n    def test_two")),
        edited(more="\nif TYPE_CHECKING:\n    from shop import Other\n"),
        edited(more="\nif __name__ == '__main__':\n    unittest.main()\n"),
        edited((VALUE, f"    # A comment.\n{VALUE}\n"), ('"""Tests of a."""', '"""Other."""')),
        edited((PRICE, f'{PRICE}    """What it is."""\n')),
        edited(("(count, cost):\n", "(\n    count,\n    cost,\n):\n")),
        FILE.replace("\n", "\r\n"),
        "\ufeff" + FILE,
    ],
)
def test_what_is_new_or_only_looks_different_is_fine(text: str) -> None:
    assert said({PATH: FILE}, {PATH: text}) == ""


class Case(NamedTuple):
    before: dict[str, str]
    after: dict[str, str | None]
    expected: str


CONFTEST = "tests/conftest.py"
FIXTURE = "import pytest\n\n\n@pytest.fixture\ndef cup():\n    return 1\n"
USES = {"tests/test_b.py": "def test_b(cup, tmp_path):\n    assert cup\n", CONFTEST: FIXTURE}
PROJECT = "[project]\nname = 'a'\n[tool.ruff]\nline-length = 9\n[tool.pytest.ini_options]\nx = 1\n"
SETUP = "[metadata]\nname = a\n\n[tool:pytest]\naddopts = -q\n"

FILES: dict[str, Case] = {
    "a file is deleted": Case({PATH: FILE}, {PATH: None}, "test_price was deleted, with its file"),
    "a helper's file is deleted": Case(
        {"tests/help.py": "def f(): ...\n"}, {"tests/help.py": None}, "a file of tests was deleted"
    ),
    "a file is renamed away": Case(
        {PATH: FILE}, {PATH: None, "tests/a_checks.py": FILE}, "test_price was deleted"
    ),
    "a file is where nobody looks": Case(
        {PATH: FILE}, {PATH: None, "tests/build/test_a.py": FILE}, "test_price was deleted"
    ),
    "a moved test is weaker": Case(
        {PATH: FILE},
        {PATH: None, "tests/test_b.py": edited(("    assert value > 0\n", ""))},
        "test_price was deleted",
    ),
    "a moved test means something else": Case(
        {PATH: FILE},
        {PATH: None, "tests/test_b.py": edited(("return Cup(count)", "return Cup(1)"))},
        "test_costs was deleted",
    ),
    "a moved test is skipped": Case(
        {PATH: FILE},
        {PATH: None, "tests/test_b.py": edited(more="\npytestmark = pytest.mark.skip\n")},
        "test_price was deleted",
    ),
    "data is changed": Case({"tests/a.txt": "1"}, {"tests/a.txt": "2"}, "tests/a.txt: a file of"),
    "data is deleted": Case({"tests/a.txt": "1"}, {"tests/a.txt": None}, "tests/a.txt: a file of"),
    "another language": Case({"a.test.ts": "1"}, {"a.test.ts": "2"}, "a file of tests was changed"),
    "a fixture is changed": Case(USES, {CONFTEST: FIXTURE.replace("1", "2")}, "cup was changed"),
    "a fixture is overridden": Case(
        USES,
        {CONFTEST: f"{FIXTURE}\n\n@pytest.fixture\ndef tmp_path():\n    return 1\n"},
        "tmp_path was added: it takes the place of the fixture tmp_path",
    ),
    "a nearer fixture": Case(
        {"tests/a/test_b.py": USES["tests/test_b.py"], CONFTEST: FIXTURE},
        {"tests/a/conftest.py": FIXTURE},
        "cup was added: it takes the place of the fixture cup",
    ),
    "an imported fixture": Case(
        {"tests/test_b.py": USES["tests/test_b.py"]},
        {"tests/test_b.py": "from fakes import cup\n" + USES["tests/test_b.py"]},
        "cup was added",
    ),
    "files are left out": Case(
        {CONFTEST: FIXTURE},
        {CONFTEST: f"{FIXTURE}\ncollect_ignore = ['test_b.py']\n"},
        "collect_ignore was added",
    ),
    "a new conftest.py with a hook": Case(
        {}, {"conftest.py": "def pytest_configure(config): ...\n"}, "a new hook"
    ),
    "a new conftest.py that acts": Case(
        {}, {"conftest.py": "import shop\nshop.price = 1\n"}, "the file was changed"
    ),
    "a new file of tests that acts": Case(
        {}, {"tests/test_n.py": "import shop\nshop.price = 1\n"}, "it changes something"
    ),
    "a new file that looks elsewhere": Case(
        {},
        {"tests/test_n.py": "import sys\nsys.path.insert(0, 'x')\n"},
        "it changes where modules come from",
    ),
    "pytest's section": Case(
        {"pyproject.toml": PROJECT},
        {"pyproject.toml": PROJECT.replace("x = 1", "x = 2")},
        "pyproject.toml: configuration of checks changed",
    ),
    "ruff's section": Case(
        {"pyproject.toml": PROJECT},
        {"pyproject.toml": PROJECT.replace("9", "10")},
        "configuration of checks changed",
    ),
    "a plugin of pytest": Case(
        {"pyproject.toml": PROJECT},
        {"pyproject.toml": f"{PROJECT}[project.entry-points.pytest11]\na = 'a'\n"},
        "configuration of checks changed",
    ),
    "a pyproject.toml that can't be read": Case(
        {"pyproject.toml": PROJECT}, {"pyproject.toml": "["}, "it can't be read any more"
    ),
    "a section of setup.cfg": Case(
        {"setup.cfg": SETUP}, {"setup.cfg": SETUP.replace("-q", "-x")}, "configuration of checks"
    ),
    "a plugin in setup.cfg": Case(
        {"setup.cfg": SETUP},
        {"setup.cfg": f"{SETUP}[options.entry_points]\npytest11 =\n  a = a\n"},
        "configuration of checks changed",
    ),
    "an empty pytest.ini": Case({}, {"pytest.ini": ""}, "configuration of checks changed"),
    "a deleted ruff.toml": Case({"ruff.toml": "a = 1"}, {"ruff.toml": None}, "configuration of"),
    "a script for tests": Case(
        {"package.json": '{"scripts": {"test": "jest"}}'},
        {"package.json": '{"scripts": {"test": "true"}}'},
        "configuration of checks changed",
    ),
    "pytest is hidden": Case({}, {"pytest.py": ""}, "it takes the place of pytest"),
    "_pytest is hidden": Case({}, {"_pytest/main.py": ""}, "it takes the place of _pytest"),
    "unittest is hidden": Case(
        {}, {"src/unittest/__init__.py": ""}, "it takes the place of unittest"
    ),
    "Python's start": Case({}, {"sitecustomize.py": ""}, "it runs whenever Python starts"),
    "a file of paths": Case({}, {"src/a.pth": "x"}, "it may run whenever Python starts"),
    "a module that tests import": Case(
        {PATH: "import json\n"}, {"tests/json.py": ""}, "it takes the place of json"
    ),
    "it imports pytest": Case(
        {"a.py": "x = 1\n"}, {"a.py": "import pytest\n"}, "it imports pytest"
    ),
    "it imports mocks": Case({}, {"a.py": "from unittest import mock\n"}, "it imports unittest"),
    "it imports by a text": Case(
        {}, {"a.py": "__import__('pytest').skip()\n"}, "it imports pytest"
    ),
    "it reads a variable": Case(
        {}, {"a.py": "import os\nX = 'PYTEST_CURRENT_TEST' in os.environ\n"}, "it has PYTEST_…"
    ),
    "it looks for pytest": Case(
        {}, {"a.py": "import sys\n\ndef f():\n    return 'pytest' in sys.modules\n"}, "test tool"
    ),
    "it knows that it is tested": Case(
        {}, {"a.py": "import sys\nX = hasattr(sys, '_called_from_test')\n"}, "_called_from_test"
    ),
    "it ends the process": Case(
        {}, {"a.py": "import os\n\ndef f():\n    os._exit(0)\n"}, "it has os._exit"
    ),
    "it exits when imported": Case(
        {}, {"a.py": "import sys\nif 1:\n    sys.exit()\n"}, "it ends it when it is imported"
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_what_a_patch_does_to_files_is_named(name: str) -> None:
    case = FILES[name]
    assert case.expected in said(case.before, case.after)


FINE: dict[str, tuple[dict[str, str], dict[str, str | None]]] = {
    "a file is moved": ({PATH: FILE}, {PATH: None, "tests/a/test_b.py": FILE}),
    "a test is moved": (
        {PATH: f"{FILE}\n\ndef test_z():\n    assert Cup\n"},
        {
            PATH: FILE,
            "tests/test_z.py": "from shop import Cup\n\n\ndef test_z():\n    assert Cup\n",
        },
    ),
    "a test and its import are moved": (
        {PATH: "from a import b\n\ndef test_z():\n    assert b\n\ndef test_y():\n    assert 1\n"},
        {
            PATH: "def test_y():\n    assert 1\n",
            "tests/test_z.py": "from a import b\n\ndef test_z():\n    assert b\n",
        },
    ),
    "an imported module is renamed": (
        {"src/a/b.py": "c = 1\n", PATH: "from a.b import c\n\ndef test_c():\n    assert c\n"},
        {
            "src/a/b.py": None,
            "src/a/d.py": "c = 1\n",
            PATH: "from a.d import c\n\ndef test_c():\n    assert c\n",
        },
    ),
    "new data": ({PATH: FILE}, {"tests/a.txt": "1"}),
    "a new file with a mark": ({PATH: FILE}, {"tests/test_n.py": "pytestmark = []\n"}),
    "a new fixture in conftest.py": (
        USES,
        {CONFTEST: f"{FIXTURE}\n\n@pytest.fixture\ndef mug():\n    return 1\n"},
    ),
    "another section": (
        {"pyproject.toml": PROJECT},
        {"pyproject.toml": PROJECT.replace("'a'", "'b'").replace("= 9", "=  9")},
    ),
    "a new pyproject.toml": ({}, {"pyproject.toml": "[project]\nname = 'a'\n"}),
    "metadata": ({"setup.cfg": SETUP}, {"setup.cfg": SETUP.replace("= a", "= b")}),
    "dependencies of a package": (
        {"package.json": '{"scripts": {"test": "jest"}}'},
        {"package.json": '{"scripts": {"test": "jest"}, "dependencies": {"a": "1"}}'},
    ),
    "what a module imported already": (
        {"a.py": "import pytest\n"},
        {"a.py": "import pytest\n\nX = 1\n"},
    ),
    "a renamed module that imports pytest": (
        {"a.py": "import pytest\n"},
        {"a.py": None, "b.py": "import pytest\n"},
    ),
    "a script": ({}, {"a.py": "import sys\nif __name__ == '__main__':\n    sys.exit()\n"}),
    "a docstring": ({}, {"a.py": '"""pytest sets PYTEST_CURRENT_TEST, _called_from_test."""\n'}),
    "a module for tests that were there": ({PATH: "import shop\n"}, {"src/shop.py": "x = 1\n"}),
}


@pytest.mark.parametrize("name", FINE)
def test_nothing_is_said_of_what_may_be(name: str) -> None:
    before, after = FINE[name]
    assert said(before, after) == ""


def test_a_deep_expression_is_compared() -> None:
    before = f"{FILE}\nX = {'1 + ' * 150}1\n"
    assert said({PATH: before}, {PATH: f"{before}\n\ndef test_new(): ...\n"}) == ""
    assert "X was changed" in said({PATH: before}, {PATH: before.replace("+ 1\n", "+ 2\n")})


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        ("pyproject.toml", True),
        ("a/conftest.py", True),
        ("jest.config.ts", True),
        ("tsconfig.build.json", True),
        (".eslintrc.json", True),
        ("src/shop/prices.py", False),
        ("Makefile", False),
    ],
)
def test_configuration_of_checks_is_known_by_its_name(path: str, is_one: bool) -> None:
    assert is_check_configuration(path) is is_one


TESTS = {
    path: text
    for path, text in {**BASE, PATH: FILE}.items()
    if isinstance(text, str) and path.endswith(".py") and path.startswith("tests/")
}
FUNCTIONS = [
    (path, node.name)
    for path, text in TESTS.items()
    for node in ast.walk(ast.parse(text))
    if isinstance(node, ast.FunctionDef) and node.name.startswith("test")
]


class WithoutFunction(ast.NodeTransformer):
    def __init__(self, name: str) -> None:
        self._name = name

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST | None:
        return ast.Pass() if node.name == self._name else node


@given(st.sets(st.sampled_from(sorted(TESTS)), min_size=1))
def test_layout_is_never_a_change(paths: set[str]) -> None:
    after: dict[str, str | None] = {path: ast.unparse(ast.parse(TESTS[path])) for path in paths}
    assert said(TESTS, after) == ""


@given(st.sampled_from(FUNCTIONS))
def test_a_deleted_test_is_always_named(function: tuple[str, str]) -> None:
    path, name = function
    tree = WithoutFunction(name).visit(ast.parse(TESTS[path]))
    assert f"{name} was deleted" in said(TESTS, {path: ast.unparse(tree)})
