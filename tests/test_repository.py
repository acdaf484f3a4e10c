"""What surrounds the package: workflow files, Makefile and Python versions, and what a wheel carries."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def parsed(name: str) -> dict[Any, Any]:
    return yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text(encoding="utf-8"))


def commands(workflow: dict[Any, Any]) -> str:
    """Everything that the steps of a workflow run."""
    return "\n".join(step.get("run", "") for job in workflow["jobs"].values() for step in job["steps"])


def make_targets(text: str) -> set[str]:
    return set(re.findall(r"\bmake ([a-z]+)", text))


def recipe(target: str) -> list[str]:
    """The commands of a target of the Makefile."""
    lines = MAKEFILE.split(f"\n{target}:", 1)[1].splitlines()[1:]
    return [
        line.strip() for line in lines[: next((i for i, line in enumerate(lines) if not line), len(lines))]
    ]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_has_triggers_and_jobs_whose_steps_run_or_use_something(path: Path) -> None:
    workflow = parsed(path.name)
    assert workflow[True], "YAML reads the key `on` as true"
    assert workflow["permissions"] == {"contents": "read"}, "a job asks for more by itself"
    for job in workflow["jobs"].values():
        assert "runs-on" in job
        assert all(("run" in step) != ("uses" in step) for step in job["steps"])
        assert all("@" in step["uses"] for step in job["steps"] if "uses" in step)


def test_make_targets_that_ci_calls_exist() -> None:
    texts = [commands(parsed(path.name)) for path in WORKFLOWS]
    texts.append((ROOT / ".ci" / "run").read_text(encoding="utf-8"))
    called = set().union(*map(make_targets, texts))
    assert {"lint", "test"} <= called
    assert called <= set(re.findall(r"^([a-z]+):", MAKEFILE, flags=re.MULTILINE))


def test_three_systems_and_every_python_from_the_oldest_that_is_promised() -> None:
    matrix = parsed("tests.yml")["jobs"]["tests"]["strategy"]["matrix"]
    assert [name.split("-")[0] for name in matrix["os"]] == ["ubuntu", "macos", "windows"]
    assert matrix["python-version"] == ["3.11", "3.12", "3.13", "3.14"]
    assert PROJECT["project"]["requires-python"] == f">={matrix['python-version'][0]}"


def test_torch_is_the_pinned_one_wherever_tests_install_it() -> None:
    pinned = re.search(r"^torch==(\S+)$", (ROOT / "constraints.txt").read_text(), flags=re.MULTILINE)
    assert pinned is not None
    for text in (commands(parsed("tests.yml")), MAKEFILE):
        assert set(re.findall(r"torch==([\w.]+)", text)) == {pinned[1]}


def test_windows_runs_what_make_test_runs() -> None:
    [command] = [line for line in recipe("test") if "pytest" in line]
    assert command.replace("$(BIN)/python", "python") in commands(parsed("tests.yml"))


def test_only_the_publishing_job_may_ask_for_an_identity() -> None:
    jobs = {(path.name, name): job for path in WORKFLOWS for name, job in parsed(path.name)["jobs"].items()}
    asking = [at for at, job in jobs.items() if "id-token" in job.get("permissions", {})]
    assert asking == [("release.yml", "publish")]
    assert "secrets." not in "".join(path.read_text(encoding="utf-8") for path in WORKFLOWS)


def test_pre_commit_checks_what_make_lint_checks() -> None:
    settings = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    hooks = [hook["entry"] for repo in settings["repos"] for hook in repo["hooks"]]
    lint = [line.replace("$(BIN)", ".venv/bin").removesuffix(" .") for line in recipe("lint")]
    assert hooks == lint


SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]


def test_every_folder_of_the_package_is_named() -> None:
    found = {".".join(path.parent.relative_to(ROOT).parts) for path in (ROOT / "ansgt").rglob("__init__.py")}
    folders = [ROOT / "configs", *(path for path in (ROOT / "configs").rglob("*") if path.is_dir())]
    found |= {".".join(("ansgt", *folder.relative_to(ROOT).parts)) for folder in folders}
    assert sorted(found) == SETUPTOOLS["packages"]


def test_the_settings_lie_in_the_package() -> None:
    assert SETUPTOOLS["package-dir"] == {"ansgt.configs": "configs"}
    for path in (ROOT / "configs").rglob("*"):
        if path.is_file():
            package = ".".join(("ansgt", *path.parent.relative_to(ROOT).parts))
            assert any(path.match(pattern) for pattern in SETUPTOOLS["package-data"][package])


SCRIPT = "from ansgt.config import shipped_file; print(shipped_file('ansgt')); print(shipped_file('gcn'))"


def installed(target: Path, script: str) -> "subprocess.CompletedProcess[str]":
    """Runs a script with what a wheel puts into `target`: the package, with configs/ inside unless told otherwise."""
    command = [sys.executable, "-c", script]
    environment = {"PYTHONPATH": str(target), "PATH": ""}
    return subprocess.run(command, env=environment, cwd=target, capture_output=True, text=True, check=False)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "ansgt", tmp_path / "ansgt", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_settings_are_found_wherever_the_package_is_installed(target: Path) -> None:
    shutil.copytree(ROOT / "configs", target / "ansgt" / "configs")
    (target / "configs").mkdir()  # another package's
    done = installed(target, SCRIPT)
    assert done.stdout.split() == [
        str(target / "ansgt" / "configs" / "ansgt.yaml"),
        str(target / "ansgt" / "configs" / "baselines.yaml"),
    ], done.stderr


def test_absent_settings_are_an_error_not_other_settings(target: Path) -> None:
    done = installed(target, SCRIPT)
    assert done.returncode != 0
    assert "InputError: The shipped settings of model 'ansgt' are missing" in done.stderr
