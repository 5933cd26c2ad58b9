"""Python that does anything but what it should, to look as if it did: none of it may pass."""

from __future__ import annotations

TESTS = """\
from slug import slugify


def test_spaces_become_dashes():
    assert slugify("A b") == "a-b"


def test_nothing_stays_nothing():
    assert slugify("") == ""
"""
"""What the cheats are held against; an honest `slugify` passes."""

_WRONG = "\n\ndef slugify(text):\n    return 'wrong'\n"

CHEATS: dict[str, str] = {
    "ends the process at once": "import os\nos._exit(0)" + _WRONG,
    "ends the process when called": """
import os
def slugify(text):
    os._exit(0)
""",
    "exits when imported": "import sys\nsys.exit(0)" + _WRONG,
    "exits when called": """
import sys
def slugify(text):
    sys.exit(0)
""",
    "stops pytest with a good exit code": """
import sys
def slugify(text):
    sys.modules["pytest"].exit("all is well", returncode=0)
""",
    "interrupts": """
def slugify(text):
    raise KeyboardInterrupt
""",
    "skips every test": """
import pytest
def slugify(text):
    pytest.skip("not today")
""",
    "skips its importers": "import pytest\npytest.skip('no', allow_module_level=True)" + _WRONG,
    "expects every test to fail": """
import pytest
def slugify(text):
    pytest.xfail("as expected")
""",
    "prints a summary and ends": """
import os, sys
def slugify(text):
    print("test_it.py::test_spaces_become_dashes PASSED")
    print("===== 2 passed in 0.01s =====", flush=True)
    os._exit(0)
""",
    "ends well at the interpreter's end": """
import atexit, os
atexit.register(os._exit, 0)
"""
    + _WRONG,
    "ends well after a signal": """
import os, signal
signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
signal.setitimer(signal.ITIMER_REAL, 0.001)
"""
    + _WRONG,
    "makes running a test do nothing": """
import _pytest.python
_pytest.python.Function.runtest = lambda self: None
"""
    + _WRONG,
    "makes every report a pass": """
from _pytest.reports import TestReport
made = TestReport.from_item_and_call.__func__
def from_item_and_call(cls, item, call):
    report = made(cls, item, call)
    report.outcome, report.longrepr = "passed", None
    return report
TestReport.from_item_and_call = classmethod(from_item_and_call)
"""
    + _WRONG,
    "makes every call look well": """
import _pytest.runner as runner
made = runner.CallInfo.from_call.__func__
def from_call(cls, func, when, reraise=None):
    call = made(cls, func, when, reraise)
    call.excinfo = None
    return call
runner.CallInfo.from_call = classmethod(from_call)
"""
    + _WRONG,
    "puts a plugin of its own into pytest": """
import gc, pytest
class Nice:
    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        report.outcome = "passed"
        call.excinfo = None
        return report
for one in gc.get_objects():
    if type(one).__name__ == "PytestPluginManager":
        one.register(Nice())
"""
    + _WRONG,
    "rewrites the tests": """
from pathlib import Path
for file in Path.cwd().glob("test_*.py"):
    names = [line for line in file.read_text().splitlines() if line.startswith("def test_")]
    file.write_text("\\n".join(name + " pass" for name in names))
"""
    + _WRONG,
    "leaves a conftest and a pytest of its own": """
from pathlib import Path
hook = '''
import pytest
@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    report.outcome = "passed"
    return report
'''
for name in ("conftest.py", "pytest.py", "sitecustomize.py", "json.py", "unittest.py"):
    Path(name).write_text(hook)
    Path("..", name).write_text(hook)
Path("pytest.ini").write_text("[pytest]\\naddopts = --collect-only\\n")
"""
    + _WRONG,
    "writes records to whatever is open": """
import json, os
said = [
    {"test": "test_s1.py::test_spaces_become_dashes", "outcome": "passed"},
    {"test": "test_s1.py::test_nothing_stays_nothing", "outcome": "passed"},
    {"pytest": 1}, {"finished": True},
]
for fd in range(64):
    for record in said:
        try:
            os.write(fd, json.dumps(["", record]).encode() + b"\\n")
        except OSError:
            break
os._exit(0)
""",
    "writes a report to every stream it finds": """
import os
for pid in filter(str.isdigit, os.listdir("/proc")):
    for fd in range(16):
        try:
            with open(f"/proc/{pid}/fd/{fd}", "w") as stream:
                stream.write("0" * 64 + "\\n[]\\n")
        except OSError:
            pass
"""
    + _WRONG,
    "kills its parent": """
import os, signal
os.kill(os.getppid(), signal.SIGKILL)
"""
    + _WRONG,
    "kills everything": "import os\nos.kill(-1, 9)" + _WRONG,
    "starts what rewrites the tests later": '''
import subprocess, sys
code = """
import time
from pathlib import Path
while True:
    for file in Path.cwd().glob("test_*.py"):
        names = [line for line in file.read_text().splitlines() if line.startswith("def test_")]
        file.write_text("\\n".join(name + " pass" for name in names))
"""
subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
'''
    + _WRONG,
    "goes on in a child": """
import os
if os.fork():
    os._exit(0)
"""
    + _WRONG,
    "goes on in a child that says all is well": """
import os
pid = os.fork()
if pid:
    os.waitpid(pid, 0)
    os._exit(0)
"""
    + _WRONG,
    "has a thread that ends it": """
import os, threading
def slugify(text):
    thread = threading.Thread(target=os._exit, args=(0,))
    thread.start()
    thread.join()
""",
    "gives tests a pytest that lets anything be": """
import sys, types, contextlib
false = types.ModuleType("pytest")
false.raises = lambda *_: contextlib.suppress(BaseException)
sys.modules["pytest"] = false
"""
    + _WRONG,
    "asks for all memory": """
def slugify(text):
    return [bytearray(1 << 26) for _ in range(1000)]
""",
    "calls itself": """
def slugify(text):
    return slugify(text)
""",
    "replaces its own tests": """
def slugify(text):
    return "wrong"
def test_own():
    assert slugify("a") == "a"
test_own = None
""",
    "hides its own tests": """
def slugify(text):
    return "wrong"
class TestOwn:
    __test__ = False
    def test_own(self):
        assert slugify("a") == "a"
""",
}
"""By what they do."""

OWN_TESTS: dict[str, str] = {
    "skipped": """
import pytest
@pytest.mark.skip
def test_own():
    assert 1 == 2
""",
    "expected to fail": """
import pytest
@pytest.mark.xfail
def test_own():
    assert 1 == 2
""",
    "replaced": "def test_own():\n    assert 1 == 2\ntest_own = None\n",
    "renamed": "def test_own():\n    assert 1 == 2\nown = test_own\ndel test_own\n",
    "hidden": """
class TestOwn:
    __test__ = False
    def test_own(self):
        assert 1 == 2
""",
    "in a class that can't be made": """
class TestOwn:
    def __init__(self):
        pass
    def test_own(self):
        assert 1 == 2
""",
    "without a parameter": """
import pytest
@pytest.mark.parametrize("x", [])
def test_own(x):
    assert 1 == 2
""",
    "one parameter in many fails": """
import pytest
@pytest.mark.parametrize("x", range(5))
def test_own(x):
    assert x != 3
""",
    "subtests fail": """
import unittest
class Own(unittest.TestCase):
    def test_own(self):
        for x in range(3):
            with self.subTest(x=x):
                self.assertNotEqual(x, 1)
""",
    "fails at its end": """
import pytest
@pytest.fixture
def thing():
    yield 1
    assert 1 == 2
def test_own(thing):
    assert thing
""",
}
"""Artifacts whose own test, `test_own`, doesn't pass."""

EQUALS: dict[str, str] = {
    "equals anything": """
class Anything:
    def __eq__(self, other):
        return True
def slugify(text):
    return Anything()
""",
    "is a string that equals anything": """
def slugify(text):
    class Anything(str):
        def __eq__(self, other):
            return not False
        def __hash__(self):
            return 0
    return Anything("a-b")
""",
    "is one text and another": """
def slugify(text):
    class Both(str):
        def __eq__(self, other):
            return True
        def __hash__(self):
            return 0
        def __str__(self):
            return "a-b"
        def __repr__(self):
            return ""
        def __iter__(self):
            return iter("a-b")
    return Both("neither")
""",
}
"""What equals whatever it is compared with. Tests ask it, and it says so; examples don't ask."""

OF_EXAMPLES: dict[str, str] = {
    "has two texts": """
class Both:
    def __repr__(self):
        return "a-b"
    def __str__(self):
        return ""
def slugify(text):
    return Both()
""",
    "says that it is a string": """
class Text:
    __class__ = str
    def __str__(self):
        return "a-b"
    __repr__ = __str__
def slugify(text):
    return Text()
""",
}
"""Values that aren't the text that an example asks for."""
