"""What `deploy/` ships: every file is checked by what reads it, as far as that is possible without a container engine (deploy/README.md says what is not)."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from detector.config import Settings, load_settings
from detector.settings.example import example, lacking
from detector.settings.reference import keys
from tests.servers.required import note_ran
from tests.worker_site import asked, free_port, until

ROOT = Path(__file__).resolve().parent.parent
DEPLOY = ROOT / "deploy"
REQUIRED = os.environ.get("DETECTOR_REQUIRE_SERVERS") == "1"
EXCLUSIVE = ("source.path", "source.cloud_id", "schedule.groups.hourly.cron", "schedule.cron")  # alternatives to what the example sets
SECRETS = {"DETECTOR_SLACK_TOKEN": "xoxb-1", "DETECTOR_ES_API_KEY": "k"}


def tool(name: str) -> str:
    """Where a program is; without it the test is skipped, or fails where everything must run."""
    found = shutil.which(name)
    if found is None:
        (pytest.fail if REQUIRED else pytest.skip)(f"{name} is not installed")
    assert found is not None
    return found


def ran(*command: str, **more: Any) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def documents(path: Path) -> list[dict[str, Any]]:
    return [one for one in yaml.safe_load_all(path.read_text()) if one]


# -- the example configuration -----------------------------------------------------------------------------------------------------------------------
def test_the_example_is_made_from_the_models() -> None:
    assert lacking() == [], "give these keys a value to show in detector/settings/example.py"
    assert (DEPLOY / "detector.example.yml").read_text() == example(), "run `python -m detector.settings.example > deploy/detector.example.yml`"


def test_the_example_loads_as_it_stands() -> None:
    settings = load_settings(DEPLOY / "detector.example.yml", SECRETS)
    assert settings.source.index == "llm-*"
    assert settings.notify.slack is not None


def test_every_setting_stands_in_the_example_with_a_value_that_is_taken() -> None:
    text = re.sub(r"^(\s*)#(?=[a-z_-])", r"\1", example(), flags=re.MULTILINE)
    data = yaml.safe_load(text)
    given = set(_paths(data, ""))
    assert {re.sub(r"<name>", "*", path) for path, _ in keys(Settings)} <= {_starred(path) for path in given}
    for path in EXCLUSIVE:
        *parents, last = path.split(".")
        section = data
        for name in parents:
            section = section[name]
        section.pop(last)
    settings = Settings.model_validate(data)
    assert (settings.notify.storm, settings.retention) == (5, 30 * 86400.0)


def _paths(value: Any, prefix: str) -> list[str]:
    if isinstance(value, dict) and value:
        return [prefix, *(found for name, inner in value.items() for found in _paths(inner, f"{prefix}.{name}" if prefix else str(name)))]
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [prefix, *_paths(value[0], f"{prefix}[]")]
    return [prefix]


def _starred(path: str) -> str:
    for parent in ("source.mapping", "grafana.panels", "schedule.groups"):
        path = re.sub(rf"^{re.escape(parent)}\.\w+", f"{parent}.*", path)
    return path


# -- the image -----------------------------------------------------------------------------------------------------------------------------------------
def dockerfile() -> list[tuple[str, str]]:
    """(instruction, rest) of the Dockerfile, with continued lines joined."""
    text = re.sub(r"\\\n\s*", " ", (DEPLOY / "Dockerfile").read_text())
    return [(line.split(None, 1)[0], line.split(None, 1)[1]) for line in text.splitlines() if line and not line.startswith("#")]


def test_the_image_is_small_runs_unprivileged_and_is_watched() -> None:
    steps = dockerfile()
    stages = [rest for instruction, rest in steps if instruction == "FROM"]
    final = steps[max(index for index, (instruction, _) in enumerate(steps) if instruction == "FROM") :]
    assert [stage.split()[0].endswith("-slim") for stage in stages] == [True, True]
    (user,) = [rest for instruction, rest in final if instruction == "USER"]
    assert user.split(":")[0].isdigit()
    assert int(user.split(":")[0]) > 0
    assert [rest for instruction, rest in final if instruction == "HEALTHCHECK"]
    runs = " ".join(rest for instruction, rest in final if instruction == "RUN")
    assert not re.search(r"\b(pip|apt-get|gcc|build-essential)\b", runs)
    for source in (
        part for instruction, rest in steps if instruction == "COPY" and "--from" not in rest for part in shlex.split(rest)[:-1] if part[:2] != "--"
    ):
        assert (ROOT / source).exists(), f"the Dockerfile copies {source}"
        assert f"!{source}" in (ROOT / ".dockerignore").read_text().splitlines(), f".dockerignore keeps {source} out"


@pytest.mark.install
def test_the_steps_of_the_image_give_a_worker_that_runs(tmp_path: Path) -> None:
    """The build stage's COPY and RUN lines in folders of their own: a fresh virtual environment, the kernels' cache; then the entry point as it would start."""
    places = {"/opt/detector": str(tmp_path / "opt"), "/src": str(tmp_path / "src")}
    (tmp_path / "opt").mkdir()
    (tmp_path / "src").mkdir()
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PIP_CACHE_DIR": _pip_cache(), **_pip_settings()}
    for instruction, rest in dockerfile()[1:]:
        if instruction == "FROM":
            break
        if instruction == "COPY":
            *sources, target = shlex.split(rest)
            for source in sources:
                into = tmp_path / "src" / (target if (ROOT / source).is_dir() else source)
                (shutil.copytree if (ROOT / source).is_dir() else shutil.copy)(ROOT / source, into)
        if instruction == "RUN":
            for old, new in places.items():
                rest = rest.replace(old, new)
            rest = rest.replace("--no-cache-dir ", "").replace("python -m venv", f"{sys.executable} -m venv")
            ran("sh", "-euc", rest, env=environment)
    assert list((tmp_path / "opt" / "numba").rglob("*.nbi")), "no kernel was compiled"
    assert not (tmp_path / "opt" / "venv" / "bin" / "pip").exists()
    port = free_port()
    (tmp_path / "log.jsonl").write_text((ROOT / "tests" / "data" / "deploy" / "log.jsonl").read_text())
    (tmp_path / "detector.yml").write_text(
        f"source: {{path: log.jsonl}}\nstore: sqlite:///state.db\nschedule: {{every: 1m, listen: '127.0.0.1:{port}'}}\nnotify: {{file: {{path: told.txt}}}}\n"
    )
    entry = (DEPLOY / "entrypoint.sh").read_text().replace("/opt/detector", str(tmp_path / "opt"))
    (tmp_path / "entrypoint.sh").write_text(entry)
    environment |= {"PATH": f"{tmp_path}/opt/venv/bin:{os.environ['PATH']}", "NUMBA_CACHE_DIR": str(tmp_path / "tmp-numba")}
    child = subprocess.Popen(["/bin/sh", str(tmp_path / "entrypoint.sh"), "run", "--config", str(tmp_path / "detector.yml")], env=environment)
    try:
        until(lambda: "detector_runs_total{" in asked(f"http://127.0.0.1:{port}/metrics")[1], "a run")
        (check,) = [rest for instruction, rest in dockerfile() if instruction == "HEALTHCHECK"]
        probe = yaml.safe_load(check[check.index("[") :])
        ran(*(part.replace("9464", str(port)) for part in probe), env=environment)
        assert list((tmp_path / "tmp-numba").rglob("*.nbi"))
    finally:
        child.terminate()
        assert child.wait(60) == 0


def _pip_cache() -> str:
    return subprocess.run([sys.executable, "-m", "pip", "cache", "dir"], capture_output=True, text=True, check=True).stdout.strip()


def _pip_settings() -> dict[str, str]:
    """Where this machine's pip finds packages."""
    return {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "REQUESTS_")) or name.lower().endswith("_proxy")}


def test_the_entry_point_passes_on_its_arguments(tmp_path: Path) -> None:
    (tmp_path / "detector").write_text('#!/bin/sh\necho "$@"\nexit 3\n')
    (tmp_path / "detector").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(["/bin/sh", str(DEPLOY / "entrypoint.sh"), "run", "--config", "a b"], capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stdout) == (3, "run --config a b\n")
    assert (DEPLOY / "entrypoint.sh").stat().st_mode & stat.S_IXUSR


# -- compose -------------------------------------------------------------------------------------------------------------------------------------------
def test_the_compose_file_fits_its_schema() -> None:
    ran(sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(DEPLOY / "compose.yml"))


def test_what_the_compose_file_mounts_is_there_and_is_used() -> None:
    compose = documents(DEPLOY / "compose.yml")[0]
    assert set(compose["services"]) == {"elasticsearch", "alertmanager", "prometheus", "grafana", "detector"}
    for name, service in compose["services"].items():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert (DEPLOY / source).exists() if source.startswith(".") else source in compose["volumes"], f"{name}: {volume}"
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", [])), f"{name} is bound to more than this machine"
    worker = compose["services"]["detector"]
    assert worker["read_only"] is True
    settings = load_settings(DEPLOY / "compose" / "detector.yml", {})
    hosts = [
        *settings.source.url,
        settings.prometheus.url if settings.prometheus else "",
        *(settings.notify.alertmanager.url if settings.notify.alertmanager else ()),
    ]
    assert {re.split("[/:]+", url)[1] for url in hosts} == {"elasticsearch", "prometheus", "alertmanager"}
    assert settings.schedule.listen == "0.0.0.0:9464"
    assert settings.store.startswith("sqlite:////var/lib/detector/")


# -- Kubernetes ----------------------------------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("version", ["1.27", "1.31", "1.34"])
@pytest.mark.parametrize("name", ["worker", "cronjob"])
def test_manifests_fit_the_schemas_of_kubernetes(name: str, version: str) -> None:
    import kubernetes_validate

    for document in documents(DEPLOY / "kubernetes" / f"{name}.yml"):
        kubernetes_validate.validate(document, version, strict=True)


def pods() -> list[Any]:
    worker = {one["kind"]: one for one in documents(DEPLOY / "kubernetes" / "worker.yml")}
    (job,) = documents(DEPLOY / "kubernetes" / "cronjob.yml")
    return [
        pytest.param(worker["Deployment"]["spec"]["template"]["spec"], id="Deployment"),
        pytest.param(job["spec"]["jobTemplate"]["spec"]["template"]["spec"], id="CronJob"),
    ]


@pytest.mark.parametrize("pod", pods())
def test_pods_run_unprivileged_with_limits_and_secrets_from_files(pod: dict[str, Any]) -> None:
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] == 10001  # the image's user
    assert pod["automountServiceAccountToken"] is False
    assert container["securityContext"] == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    assert {"requests", "limits"} <= set(container["resources"])
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod["volumes"]}
    assert {"/tmp", "/var/lib/detector"} <= {mount["mountPath"] for mount in container["volumeMounts"]}
    for variable in container["env"]:
        assert variable["name"].endswith("_FILE")
        assert variable["value"].startswith("/run/secrets/detector/")


def test_the_configuration_of_the_manifest_loads_and_matches_its_probes(tmp_path: Path) -> None:
    worker = {one["kind"]: one for one in documents(DEPLOY / "kubernetes" / "worker.yml")}
    (tmp_path / "detector.yml").write_text(worker["ConfigMap"]["data"]["detector.yml"])
    settings = load_settings(tmp_path / "detector.yml", SECRETS)
    (container,) = worker["Deployment"]["spec"]["template"]["spec"]["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert settings.schedule.listen == f"0.0.0.0:{ports['metrics']}"
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"] == {"path": "/healthz", "port": "metrics"}
    assert worker["Service"]["spec"]["selector"] == worker["Deployment"]["spec"]["selector"]["matchLabels"]


# -- systemd -------------------------------------------------------------------------------------------------------------------------------------------
def test_units_are_taken_by_systemd(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    for unit in (DEPLOY / "systemd").iterdir():  # the program is not installed where tests run
        (tmp_path / unit.name).write_text(unit.read_text().replace("/opt/detector/bin/detector", "/bin/true"))
    said = ran("systemd-analyze", "verify", "--man=no", *(str(path) for path in sorted(tmp_path.iterdir())))
    assert said == ""


def test_units_start_commands_that_exist() -> None:
    from detector.cli import parser

    started = [
        line.removeprefix("ExecStart=") for unit in (DEPLOY / "systemd").glob("*.service") for line in unit.read_text().splitlines() if "ExecStart=" in line
    ]
    assert len(started) == 2
    for line in started:
        program, *arguments = shlex.split(line)
        assert program == "/opt/detector/bin/detector"
        assert parser().parse_args(arguments).command == "run"


# -- Prometheus ----------------------------------------------------------------------------------------------------------------------------------------
@pytest.mark.prometheus
def test_alert_rules_are_taken_by_promtool_and_fire_when_they_should() -> None:
    promtool = tool("promtool")
    note_ran("promtool (rules and configuration of Prometheus)", promtool)
    ran(promtool, "check", "config", str(DEPLOY / "prometheus" / "prometheus.yml"))
    ran(promtool, "check", "rules", str(DEPLOY / "prometheus" / "detector.rules.yml"))
    assert "SUCCESS" in ran(promtool, "test", "rules", str(DEPLOY / "prometheus" / "detector.rules.test.yml"))


@pytest.mark.alertmanager
def test_the_alertmanager_configuration_is_taken_by_amtool() -> None:
    ran(tool("amtool"), "check-config", str(DEPLOY / "compose" / "alertmanager.yml"))


def test_alert_rules_name_metrics_that_the_worker_has() -> None:
    from detector.metrics import Metrics

    page = Metrics().page().decode()
    known = set(re.findall(r"^# HELP (\w+)", page, re.MULTILINE))
    named = set(
        re.findall(
            r"\bdetector_\w+",
            " ".join(rule["expr"] for group in documents(DEPLOY / "prometheus" / "detector.rules.yml")[0]["groups"] for rule in group["rules"]),
        )
    )
    assert named
    assert named <= known
    assert all(name in (ROOT / "docs" / "operations.md").read_text() for name in known if name.startswith("detector_") and not name.endswith("_created"))


def test_the_readme_names_every_file() -> None:
    text = (DEPLOY / "README.md").read_text()
    for path in DEPLOY.rglob("*"):
        if path.is_file() and path.name != "README.md":
            assert path.name in text, f"deploy/README.md does not say what {path.relative_to(DEPLOY)} is"
