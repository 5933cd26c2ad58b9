"""The wheel holds the package, whole and alone, and works away from the checkout."""

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
TRAINING_DATA = sorted((ROOT / "parl" / "data").rglob("*.txt"))
PAGES = sorted([*(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("*/*.md")])
DATA_FOLDERS = {
    *(f"prefect_swarm/{page.parent.relative_to(ROOT).as_posix()}" for page in PAGES),
    "prefect_swarm/memory/personas/shipped",
    "prefect_swarm/parl/adapters",
    "prefect_swarm/report/templates",
    *(f"prefect_swarm/{file.parent.relative_to(ROOT).as_posix()}" for file in TRAINING_DATA),
}
NOT_SHIPPED = {"benches", "build", "dist", "docs", "examples", "tests"}


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def declared_packages() -> list[str]:
    return project()["tool"]["setuptools"]["packages"]


def folder_of(package: str) -> Path:
    return ROOT.joinpath(*package.split(".")[1:])


def packages_in(folder: Path, name: str) -> Iterator[str]:
    """Every folder with an `__init__.py`, from the root package down."""
    yield name
    for init in sorted(folder.glob("[!._]*/__init__.py")):
        child = init.parent
        if not (folder == ROOT and child.name in NOT_SHIPPED):
            yield from packages_in(child, f"{name}.{child.name}")


def output_of(command: list[str | Path], cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        command,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **environment},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the source archive that is built from a copy of the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    unwanted = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__")
    shutil.copytree(ROOT, folder / "checkout", ignore=unwanted)
    output_of(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder / "out", "checkout"],
        cwd=folder,
    )
    (built,) = (folder / "out").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def contents(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def install_folder(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the installed wheel and nothing else."""
    target = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    output_of([*pip, "install", "--no-deps", "--no-index", "--target", target, wheel], cwd=target)
    return target


def run_outside_the_checkout(code: str, install_folder: Path, cwd: Path) -> list[str]:
    command: list[str | Path] = [sys.executable, "-W", "error::ImportWarning", "-c", code]
    return output_of(command, cwd=cwd, PYTHONPATH=str(install_folder)).splitlines()


def test_every_package_folder_is_declared() -> None:
    assert sorted(declared_packages()) == sorted(packages_in(ROOT, "prefect_swarm"))


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    named = (line.split("==") for line in lines if not line.startswith("#"))
    return {canonicalize_name(name): version for name, version in named}


def requirements() -> list[Requirement]:
    """What `make` installs by name."""
    extras = project()["project"]["optional-dependencies"]
    lines = [line for extra in extras.values() for line in extra]
    return [Requirement(line) for line in [*project()["project"]["dependencies"], *lines]]


@pytest.mark.parametrize("requirement", requirements(), ids=str)
def test_every_requirement_has_a_pin_that_meets_it(requirement: Requirement) -> None:
    assert pins().get(canonicalize_name(requirement.name), "no pin") in requirement.specifier


def test_llama_cpp_comes_with_extras_alone() -> None:
    extras = project()["project"]["optional-dependencies"]
    required = {Requirement(line).name for line in project()["project"]["dependencies"]}
    assert "llama-cpp-python" not in {str(canonicalize_name(name)) for name in required}
    assert [Requirement(line).name for line in extras["local"]] == ["llama-cpp-python"]
    assert set(extras["local"]) < set(extras["demo"])


@pytest.mark.slow
def test_the_wheel_holds_every_module(contents: set[str]) -> None:
    modules = {
        f"{package.replace('.', '/')}/{module.name}"
        for package in declared_packages()
        for module in folder_of(package).glob("*.py")
    }
    assert modules <= contents


@pytest.mark.slow
def test_the_wheel_holds_the_data_beside_the_code(contents: set[str]) -> None:
    data = {
        f"{package.replace('.', '/')}/{file.name}"
        for package in declared_packages()
        for file in folder_of(package).glob("[!.]*.*")
        if package != "prefect_swarm" and file.is_file() and file.suffix not in {".py", ".md"}
    }
    assert data <= contents


@pytest.mark.slow
def test_the_wheel_holds_the_training_data(contents: set[str]) -> None:
    texts = {f"prefect_swarm/{path.relative_to(ROOT).as_posix()}" for path in TRAINING_DATA}
    assert texts
    assert texts <= contents


@pytest.mark.slow
def test_the_wheel_holds_the_pages_that_the_command_shows(contents: set[str]) -> None:
    pages = {f"prefect_swarm/{page.relative_to(ROOT).as_posix()}" for page in PAGES}
    assert pages
    assert pages <= contents


@pytest.mark.slow
def test_the_wheel_says_that_it_is_typed(contents: set[str]) -> None:
    assert "prefect_swarm/py.typed" in contents


@pytest.mark.slow
def test_the_wheel_holds_the_licence(contents: set[str]) -> None:
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in contents)


@pytest.mark.slow
def test_the_wheel_holds_nothing_but_the_package(contents: set[str]) -> None:
    folders = {package.replace(".", "/") for package in declared_packages()} | DATA_FOLDERS
    outside = {name for name in contents if name.rpartition("/")[0] not in folders}
    metadata = {name for name in outside if name.split("/")[0].endswith(".dist-info")}
    assert outside == metadata


@pytest.mark.slow
def test_every_package_imports_from_the_wheel(install_folder: Path, tmp_path: Path) -> None:
    code = f"""
from importlib import import_module
for name in {declared_packages()!r}:
    print(import_module(name).__file__)
"""
    files = run_outside_the_checkout(code, install_folder, tmp_path)
    assert [Path(file) for file in files] == [
        install_folder.joinpath(*package.split("."), "__init__.py")
        for package in declared_packages()
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("group", "name", "value"),
    [
        ("console_scripts", "prefect-swarm", "prefect_swarm.cli:main"),
        ("prefect.collections", "prefect_swarm", "prefect_swarm.blocks"),
    ],
)
def test_the_entry_points_lead_into_the_wheel(
    group: str, name: str, value: str, install_folder: Path, tmp_path: Path
) -> None:
    code = f"""
from importlib import import_module
from importlib.metadata import distributions
(wheel,) = distributions(name="prefect-swarm", path=[{str(install_folder)!r}])
(point,) = wheel.entry_points.select(group={group!r}, name={name!r})
print(point.value)
print(import_module(point.module).__file__)
"""
    declared, file = run_outside_the_checkout(code, install_folder, tmp_path)
    assert declared == value
    assert Path(file).is_relative_to(install_folder)


@pytest.mark.slow
def test_the_command_is_installed(install_folder: Path) -> None:
    assert (install_folder / "bin" / "prefect-swarm").exists()
