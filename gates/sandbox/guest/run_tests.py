"""Runs in the sandbox: pytest on tests whose text comes from the job, not from the folder.

What the artifact does to the files, to the standard output or to the exit code is therefore no
matter. That it left pytest alone shows in tests that must fail and are among the others.
"""

from __future__ import annotations

import ast
import asyncio
import builtins
import contextlib
import doctest
import gc
import importlib
import inspect
import os
import re
import sys
import tempfile
import types
import warnings
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from _pytest.assertion.rewrite import rewrite_asserts
from _pytest.config import default_plugins

_OPTIONS = (
    *("-p", "no:cacheprovider", "-p", "no:faulthandler", "--noconftest", "-c", os.devnull),
    *("--capture=no", "--import-mode=importlib", "-o", "python_functions=test_*"),
    # Nobody reads its report, and any other kind looks for each traceback's source.
    *("--continue-on-collection-errors", "--tb=native"),
)

_REHEARSAL = "test_rehearsal.py"
_STUB = "__emptied__"
# Where Hypothesis keeps a test's settings; in a version that doesn't, it takes a little longer.
_SETTINGS = "_hypothesis_internal_use_settings"
# More than a test that ends would need; see `_Stub`.
_MOST_CALLS = 10_000
_RETURNS = "it returns a value instead of asserting it"
_DEPRECATED = "It is deprecated to return a value that is not None from a test case"
_FRAME = re.compile(r'^  File "(.+)", line (\d+)', re.MULTILINE)
# What pytest adds below a traceback.
_HINTS = ("Enable tracemalloc", "See https:", "Object allocated at")

# What pytest and its tests import late.
_LATE = ("difflib", "pprint", "unittest.mock", "json", "tempfile", "importlib.metadata", "pdb")
for _late in (*_LATE, "email.parser", *(f"_pytest.{name}" for name in default_plugins)):
    importlib.import_module(_late)

SendRecord = Callable[[object], None]
DescribeException = Callable[[BaseException], dict[str, Any]]


def perform(job: dict[str, Any], report: SendRecord, describe: DescribeException) -> bool:
    """Run the tests of the job's `test_files`: each path with its module's name and its text."""
    folder = os.getcwd()
    paths = [os.path.join(folder, path) for path in job["test_files"]]
    # pytest collects garbage at its end; what it is made of needn't be looked at.
    gc.freeze()
    if job["emptied"]:
        plugin = _Reporter(folder, job, _ignore, describe)
        report({"noticed": _notice(job, folder, paths, plugin)})
        return True
    plugin = _Reporter(folder, job, report, describe)
    code = pytest.main([*_OPTIONS, f"--rootdir={folder}", *paths], plugins=[plugin])
    report({"pytest": int(code)})
    return True


def rehearse() -> None:
    """Run a test that fails: what the interpreter learns by that, the jobs' processes have."""
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w") as nothing:
        Path(folder, _REHEARSAL).touch()
        files = {_REHEARSAL: (_REHEARSAL, "def test_fails():\n    assert [1] == [2]\n")}
        plugin = _Reporter(
            folder, {"test_files": files, "doctests": {}}, _ignore, lambda _: dict[str, Any]()
        )
        with contextlib.redirect_stdout(nothing):
            path = os.path.join(folder, _REHEARSAL)
            pytest.main([*_OPTIONS, f"--rootdir={folder}", path], plugins=[plugin])
    sys.modules.pop(_REHEARSAL, None)


def _ignore(_: object) -> None:
    """Take a record that nobody reads."""


class _Reporter:
    """Makes the modules from the job's texts, and reports each test's outcome."""

    def __init__(
        self,
        folder: str,
        job: dict[str, Any],
        report: SendRecord,
        describe: DescribeException,
    ) -> None:
        self._folder, self._test_files, self._doctests = folder, job["test_files"], job["doctests"]
        self._report, self._describe = report, describe
        self.failed = False

    def pytest_pycollect_makemodule(
        self, module_path: Path, parent: pytest.Collector
    ) -> pytest.Module | None:
        # pytest looks at its neighbours too, and leaves them.
        within = module_path.is_relative_to(self._folder)
        path = module_path.relative_to(self._folder).as_posix() if within else ""
        if (test_file := self._test_files.get(path)) is None:
            return None
        name, text = test_file
        docstrings = self._doctests.get(path, ())

        class InMemoryModule(pytest.Module):
            def _getobj(self) -> types.ModuleType:
                return _make_module(name, text, module_path, self.config)

            def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
                yield from super().collect()
                for docstring in docstrings:
                    item: _DoctestItem = _DoctestItem.from_parent(self, name=docstring[0])  # pyright: ignore[reportUnknownMemberType]
                    item.docstring = tuple(docstring)
                    yield item

        made: pytest.Module = InMemoryModule.from_parent(parent, path=module_path)  # pyright: ignore[reportUnknownMemberType]
        return made

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> object:
        """Run coroutine functions too."""
        if not inspect.iscoroutinefunction(pyfuncitem.obj):
            return None
        wanted = inspect.signature(pyfuncitem.obj).parameters
        params = {name: pyfuncitem.funcargs[name] for name in wanted if name in pyfuncitem.funcargs}
        value = asyncio.run(pyfuncitem.obj(**params))
        if value is not None:
            pytest.fail(f"{_RETURNS} ({value!r})", pytrace=False)
        return True

    def pytest_warning_recorded(
        self, warning_message: warnings.WarningMessage, nodeid: str
    ) -> None:
        """Report what pytest only warns of, though it says that nothing was tested."""
        message, text = warning_message.message, str(warning_message.message)
        frames = [
            [os.path.relpath(path, self._folder), int(line)]
            for path, line in _FRAME.findall(text)
            if path.startswith(self._folder + os.sep)
        ]
        if isinstance(message, pytest.PytestReturnNotNoneWarning) or text.startswith(_DEPRECATED):
            found = _RETURNS
        elif isinstance(message, pytest.PytestUnhandledThreadExceptionWarning):
            found = f"an exception in a thread: {_last_line(text)}"
        elif isinstance(message, RuntimeWarning) and text.endswith("was never awaited"):
            found = f"it doesn't wait for a coroutine: {text}"
        elif isinstance(message, pytest.PytestUnraisableExceptionWarning) and frames:
            found = f"an exception that nothing can catch: {_last_line(text)}"
        else:
            return
        raised = {"name": type(message).__name__, "message": found[:1000], "frames": frames}
        self._send(nodeid, "failed", raised)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._report({"starts": str(nodeid)})

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        found = yield
        error = call.excinfo.value if call.excinfo else None
        if hasattr(found, "wasxfail"):
            why = f": {found.wasxfail}" if found.wasxfail else ""
            message = f"it is marked as expected to fail{why}"
            self._send(item.nodeid, "failed", {"name": "xfail", "message": message})
        elif found.outcome != "passed" or error is not None:
            outcome = "failed" if found.outcome == "passed" else found.outcome
            line = item.line if isinstance(item, _DoctestItem) else 0
            self._report_outcome(item.nodeid, outcome, error, line)
        elif call.when == "call":
            self._report_outcome(item.nodeid, "passed", None)
        return found

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome == "failed":
            self._report_outcome(report.nodeid, "failed", None)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        found = yield
        if found.outcome != "passed":
            call = getattr(found, "call", None)
            error = call.excinfo.value if call is not None and call.excinfo else None
            self._report_outcome(collector.nodeid, found.outcome, error)
        return found

    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self._report_outcome("", "failed", excinfo.value)

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self._report_outcome("", "failed", excinfo.value)

    def _report_outcome(
        self, test: str, outcome: str, error: BaseException | None, line: int = 0
    ) -> None:
        raised = None if error is None else self._describe(error)
        if raised is not None and line:
            raised["frames"].append((test.partition("::")[0], line))
        if raised is not None and isinstance(error, pytest.FixtureLookupError):
            missing = f"there is no fixture {error.argname!r}; no plugin and no conftest.py is read"
            raised["message"] = missing
        self._send(test, outcome, raised)

    def _send(self, test: object, outcome: str, raised: dict[str, Any] | None) -> None:
        self.failed = self.failed or outcome == "failed"
        record = {"test": str(test), "outcome": outcome}
        self._report(record if raised is None else {**record, "raised": raised})


def _last_line(text: str) -> str:
    """Return the last line of a traceback, which says what was raised."""
    lines = [line for line in text.splitlines() if line[:1].strip()]
    return next((line for line in reversed(lines) if not line.startswith(_HINTS)), "")


def _make_module(name: str, text: str, path: Path, config: pytest.Config) -> types.ModuleType:
    source = text.encode()
    tree = ast.parse(source, filename=str(path))
    rewrite_asserts(tree, source, str(path), config)
    code = compile(tree, str(path), "exec", dont_inherit=True)
    module = types.ModuleType(name)
    module.__file__ = str(path)
    module.__package__ = name.rpartition(".")[0]
    sys.modules[name] = module
    try:
        exec(code, vars(module))  # noqa: S102 - this is the sandbox
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


class _DoctestItem(pytest.Item):
    """The examples of a docstring, which are run over a copy of the module's names."""

    docstring: tuple[str, int, str] = ("", 0, "")
    line = 0

    def runtest(self) -> None:
        name, first, text = self.docstring
        module: types.ModuleType = cast("Any", self.parent).obj
        names = dict(vars(module))
        parsed = doctest.DocTestParser().get_doctest(text, names, name, str(self.path), first - 1)
        try:
            doctest.DebugRunner(verbose=False).run(parsed, out=lambda _: None)
        except doctest.DocTestFailure as failure:
            example = failure.example
            self.line = first + example.lineno
            wanted = example.want.strip() or "nothing"
            actual = failure.got.strip() or "nothing"
            raise AssertionError(
                f"{example.source.strip()} gave {actual}, expected {wanted}"
            ) from None
        except doctest.UnexpectedException as failure:
            self.line = first + failure.example.lineno
            raise failure.exc_info[1] from None


class _Stub:
    """What a function does whose body is gone: it gives the same value whenever it is called."""

    def __init__(self, value: object) -> None:
        self._value, self.calls = value, 0

    def __call__(self) -> object:
        self.calls += 1
        if self.calls > _MOST_CALLS:
            raise _TooManyCallsError
        return self._value

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Have Hypothesis, where it is used, look for no simpler case and no more than a few."""
        if (hypothesis := sys.modules.get("hypothesis")) is None:
            return
        few = hypothesis.settings(max_examples=5, database=None, phases=[hypothesis.Phase.generate])
        for item in session.items:
            function = getattr(getattr(item, "obj", None), "__func__", getattr(item, "obj", None))
            if hasattr(function, _SETTINGS):
                setattr(function, _SETTINGS, few)

    def pytest_runtest_logstart(self) -> None:
        self.calls = 0


class _TooManyCallsError(BaseException):
    """Ends a test that waits in a loop for what an empty function never gives."""


def _notice(job: dict[str, Any], folder: str, paths: list[str], plugin: _Reporter) -> bool:
    """Say whether the tests notice that the functions of the code do nothing any more.

    Whatever a test asks of a value, either None or an object without properties hasn't got it.
    """
    for path, text in job["emptied"].items():
        Path(folder, path).write_text(text, encoding="utf-8")
    for value in (None, object()):
        stub = _Stub(value)
        setattr(builtins, _STUB, stub)
        if pytest.main([*_OPTIONS, "-x", f"--rootdir={folder}", *paths], plugins=[plugin, stub]):
            return True
        if plugin.failed:
            return True
        # The modules are made again, with the other value.
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None)).startswith(folder + os.sep):
                del sys.modules[name]
    return False
