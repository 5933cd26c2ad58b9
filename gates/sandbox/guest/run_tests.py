"""Runs in the sandbox: pytest on tests whose text comes from the job, not from the folder.

What the artifact does to the files, to the standard output or to the exit code is therefore no
matter. That it left pytest alone shows in tests that must fail and are among the others.
"""

from __future__ import annotations

import ast
import asyncio
import builtins
import importlib
import inspect
import os
import sys
import types
from collections.abc import Callable, Generator
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from _pytest.assertion.rewrite import rewrite_asserts
from _pytest.config import default_plugins

_OPTIONS = (
    *("-p", "no:cacheprovider", "-p", "no:faulthandler", "--noconftest", "-c", os.devnull),
    *("--capture=no", "--import-mode=importlib", "-o", "python_functions=test_*"),
    "--continue-on-collection-errors",
)

# What pytest and its tests import late.
_LATE = ("difflib", "pprint", "unittest.mock", "json", "tempfile", "importlib.metadata", "pdb")
for _late in (*_LATE, "email.parser", *(f"_pytest.{name}" for name in default_plugins)):
    importlib.import_module(_late)

SendRecord = Callable[[object], None]
DescribeException = Callable[[BaseException], dict[str, Any]]


def perform(job: dict[str, Any], report: SendRecord, describe: DescribeException) -> bool:
    """Run the tests of the job's `test_files`: each path with its module's name and its text."""
    folder = os.getcwd()
    _refuse_equality_with_everything(folder + os.sep)
    paths = [os.path.join(folder, path) for path in job["test_files"]]
    plugin = _Reporter(folder, job["test_files"], report, describe)
    code = pytest.main([*_OPTIONS, f"--rootdir={folder}", *paths], plugins=[plugin])
    report({"pytest": int(code)})
    return True


class _Reporter:
    """Makes the modules from the job's texts, and reports each test's outcome."""

    def __init__(
        self,
        folder: str,
        test_files: dict[str, tuple[str, str]],
        report: SendRecord,
        describe: DescribeException,
    ) -> None:
        self._folder, self._test_files = folder, test_files
        self._report, self._describe = report, describe

    def pytest_pycollect_makemodule(
        self, module_path: Path, parent: pytest.Collector
    ) -> pytest.Module | None:
        # pytest looks at its neighbours too, and leaves them.
        within = module_path.is_relative_to(self._folder)
        path = module_path.relative_to(self._folder).as_posix() if within else ""
        if (test_file := self._test_files.get(path)) is None:
            return None
        name, text = test_file

        class InMemoryModule(pytest.Module):
            def _getobj(self) -> types.ModuleType:
                return _make_module(name, text, module_path, self.config)

        made: pytest.Module = InMemoryModule.from_parent(parent, path=module_path)  # pyright: ignore[reportUnknownMemberType]
        return made

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> object:
        """Run coroutine functions too."""
        if not inspect.iscoroutinefunction(pyfuncitem.obj):
            return None
        wanted = inspect.signature(pyfuncitem.obj).parameters
        given = {name: pyfuncitem.funcargs[name] for name in wanted if name in pyfuncitem.funcargs}
        asyncio.run(pyfuncitem.obj(**given))
        return True

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._report({"starts": str(nodeid)})

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        found = yield
        error = call.excinfo.value if call.excinfo else None
        if found.outcome != "passed" or error is not None or hasattr(found, "wasxfail"):
            outcome = "failed" if found.outcome == "passed" else found.outcome
            self._report_outcome(item.nodeid, outcome, error)
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

    def _report_outcome(self, test: object, outcome: str, error: BaseException | None) -> None:
        record: dict[str, Any] = {"test": str(test), "outcome": outcome}
        if error is not None:
            record["raised"] = self._describe(error)
        if isinstance(error, pytest.FixtureLookupError):
            missing = f"there is no fixture {error.argname!r}; no plugin and no conftest.py is read"
            record["raised"]["message"] = missing
        self._report(record)


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


def _refuse_equality_with_everything(folder: str) -> None:
    """Make `==` raise where a class of the model's says that it equals whatever it meets."""
    build = builtins.__build_class__

    def build_class(body: Any, name: str, *bases: Any, **options: Any) -> Any:
        made = build(body, name, *bases, **options)
        if body.__code__.co_filename.startswith(folder) and isinstance(made, type):
            equals = vars(made).get("__eq__")
            if isinstance(equals, types.FunctionType):
                with suppress(AttributeError, TypeError):
                    type.__setattr__(made, "__eq__", _honest(equals))
        return made

    builtins.__build_class__ = build_class


def _honest(equals: Callable[[Any, object], object]) -> Callable[[Any, object], object]:
    nothing = type("Nothing", (), {})

    @wraps(equals)
    def checked(self: object, other: object) -> object:
        answer = equals(self, other)
        if answer is not NotImplemented and answer and type(other) is not type(self):
            too = False
            with suppress(Exception):
                too = equals(self, nothing()) is not NotImplemented and equals(self, nothing())
            if too:
                raise AssertionError(f"{type(self).__name__} claims to equal anything")
        return answer

    return checked
