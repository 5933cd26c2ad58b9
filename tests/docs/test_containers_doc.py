"""The files of the page on containers fit this package, and Prefect's own templates."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from docs_pages import ROOT, page_path
from prefect.utilities.templating import apply_values
from prefect_swarm.settings import SwarmSettings

FOLDER = ROOT / "examples" / "containers"
PAGE = page_path("how-to/containers.md").read_text("utf-8")
POOLS = ("docker", "kubernetes")


@cache
def template(kind: str) -> dict[str, Any]:
    return json.loads((FOLDER / f"{kind}_pool.json").read_text("utf-8"))


@cache
def prefects_own(kind: str) -> dict[str, Any]:
    import prefect

    (path,) = Path(prefect.__file__).parent.rglob("aggregate-worker-metadata.json")
    workers = json.loads(path.read_text("utf-8"))
    return workers[f"prefect-{kind}"][kind]["default_base_job_configuration"]


def filled(kind: str, **values: Any) -> dict[str, Any]:
    """Return what a worker starts: the template with its defaults, and a job's values."""
    known = template(kind)["variables"]["properties"]
    defaults = {name: p["default"] for name, p in known.items() if "default" in p}
    return apply_values(template(kind)["job_configuration"], {**defaults, **values})


@pytest.mark.parametrize("kind", POOLS)
def test_a_template_has_the_variables_of_prefects_own(kind: str) -> None:
    own, ours = prefects_own(kind)["variables"], template(kind)["variables"]
    assert set(ours["properties"]) == set(own["properties"])
    assert ours["definitions"] == own["definitions"]
    for name, variable in ours["properties"].items():
        without = {key: value for key, value in variable.items() if key != "default"}
        of_prefect = own["properties"][name]
        assert without == {key: value for key, value in of_prefect.items() if key != "default"}


@pytest.mark.parametrize("kind", POOLS)
def test_each_variable_of_a_template_has_its_place(kind: str) -> None:
    text, own = json.dumps(template(kind)["job_configuration"]), prefects_own(kind)
    named = set(re.findall(r"{{ (\w+) }}", text))
    assert named == set(re.findall(r"{{ (\w+) }}", json.dumps(own["job_configuration"])))
    assert named == set(template(kind)["variables"]["properties"])


@pytest.mark.parametrize("kind", POOLS)
def test_settings_that_a_template_names_are_there_and_have_no_secret(kind: str) -> None:
    env = filled(kind)["env"]
    prefix = "PREFECT_INTEGRATIONS_SWARM_"
    assert {name.removeprefix(prefix).lower() for name in env} <= set(SwarmSettings.model_fields)
    assert env[f"{prefix}STORE"].startswith("block:secret/")


def test_a_pod_has_no_privileges_and_takes_what_the_worker_gives() -> None:
    job = filled("kubernetes", command="prefect flow-run execute", env={"A": "b"}, image="swarm:2")
    pod = job["job_manifest"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert not pod["automountServiceAccountToken"]
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert (container["image"], container["args"]) == ("swarm:2", "prefect flow-run execute")
    assert container["env"] == {"A": "b"}
    assert job["job_manifest"]["spec"]["backoffLimit"] == 0


def test_the_pods_user_is_the_images() -> None:
    pod = filled("kubernetes")["job_manifest"]["spec"]["template"]["spec"]
    found = re.search(r"useradd .*--uid (\d+) (\w+)", dockerfile())
    assert found is not None
    assert pod["securityContext"]["runAsUser"] == int(found[1])
    assert f"USER {found[2]}" in dockerfile()


def dockerfile() -> str:
    return (FOLDER / "Dockerfile").read_text("utf-8")


def instructions() -> list[tuple[str, str]]:
    """Return the Dockerfile's instructions in their order."""
    joined = re.sub(r"\\\n\s*", "", dockerfile())
    lines = (line for line in joined.splitlines() if line and not line.startswith("#"))
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


def test_the_image_has_extras_and_files_that_are_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    found = re.search(r"/src\[([\w,]+)\]", dockerfile())
    assert found is not None
    assert set(found[1].split(",")) <= set(project["optional-dependencies"])
    assert "postgres" in found[1]
    for path in re.findall(r"/src/([\w.]+)", dockerfile()):
        assert (ROOT / path).is_file()


def test_the_image_is_built_in_two_stages_and_ends_without_privileges() -> None:
    words = [word for word, _ in instructions()]
    assert words.count("FROM") == 2
    (user,) = (rest for word, rest in instructions() if word == "USER")
    assert user != "root"
    # Nothing is installed once the user has no privileges, or where only files are copied.
    assert "RUN" not in words[words.index("USER") :]
    (copied,) = (rest for word, rest in instructions() if word == "COPY" and "--from" in rest)
    assert copied.startswith("--from=build ")


def test_the_image_has_what_its_comments_say() -> None:
    (packages,) = re.findall(r"apt-get install -y --no-install-recommends ([\w ]+)", dockerfile())
    assert set(packages.split()) == {"bubblewrap", "tini"}
    (entry,) = (json.loads(rest) for word, rest in instructions() if word == "ENTRYPOINT")
    assert entry[0] == "tini"


def test_what_is_not_copied_is_no_part_of_the_package() -> None:
    left_out = (FOLDER / "Dockerfile.dockerignore").read_text("utf-8").split()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    packages = {name.partition(".")[2].partition(".")[0] for name in _packages(project)}
    assert not packages & {name.strip("/") for name in left_out}


def _packages(project: dict[str, Any]) -> list[str]:
    return project["tool"]["setuptools"]["packages"]


@pytest.mark.parametrize("kind", POOLS)
def test_the_page_creates_each_pool_from_its_file(kind: str) -> None:
    (line,) = (line for line in PAGE.splitlines() if f"--type {kind}" in line)
    words = shlex.split(line)
    assert (ROOT / words[words.index("--base-job-template") + 1]).is_file()
