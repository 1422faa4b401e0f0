"""The container deployment, as far as it can be checked without containers.

The compose file is read as compose would read it: its shape, every path, variable and setting it names, what its
commands do, and what it must never contain.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
import redis
import yaml
from redis.backoff import NoBackoff
from redis.retry import Retry

from loop.embedded_redis import find_binary, free_port
from shared.base.process import tied_to_me
from shared.base.settings import Settings, environment_name, environment_names, read_settings
from tests.support.settings import default_settings
from tests.support.waiting import wait_until

ROOT = Path(__file__).resolve().parents[1]
COMPOSE_TEXT = (ROOT / "docker-compose.yml").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load(COMPOSE_TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
DOCKERFILE = (ROOT / "ops" / "docker" / "Dockerfile").read_text()
ONE_SHOT = {"migrate", "ollama-volume"}
OURS = ["migrate", "loop", "worker"]
SETTINGS = {name for field in Settings.model_fields for name in environment_names(field)}
ENV_EXAMPLE = (ROOT / "ops" / "docker" / "env.example").read_text()
FOR_COMPOSE = set(re.findall(r"^#?([A-Z_]+)=", ENV_EXAMPLE, re.MULTILINE))
SECRETS = {
    "POSTGRES_PASSWORD": "p4ss",
    "REDIS_PASSWORD": "r3d",
    "GRAFANA_PASSWORD": "gr4",
    "AFTERTHOUGHT_ADMIN_TOKEN": "t0k-of-the-admins",
    "AFTERTHOUGHT_METRICS_TOKEN": "m3t-of-the-scraper",
}
# A name, perhaps a default or a message for when it is missing; `$$` is a literal dollar.
_VARIABLE = re.compile(r"(?<!\$)\$\{(?P<name>\w+)(?:(?P<how>:[-?])(?P<rest>[^}]*))?\}")
_TOP_KEYS = {"name", "services", "networks", "volumes", "secrets"}
_SERVICE_KEYS = {
    *("build", "cap_add", "cap_drop", "command", "depends_on", "entrypoint", "environment", "expose", "healthcheck"),
    *("image", "init", "logging", "network_mode", "networks", "ports", "profiles", "read_only", "restart", "secrets"),
    *("security_opt", "shm_size", "stop_grace_period", "tmpfs", "user", "volumes"),
}
_HEALTH_KEYS = {"test", "interval", "timeout", "retries", "start_period", "disable"}
_CONDITIONS = {"service_started", "service_healthy", "service_completed_successfully"}


def _filled(text: str) -> str:
    """Return ``text`` as compose would fill it in with the secrets set and nothing else."""

    def value(found: re.Match[str]) -> str:
        name, how, rest = found["name"], found["how"], found["rest"]
        if name in SECRETS:
            return SECRETS[name]
        assert how == ":-", f"{name} has neither a value nor a default"
        return str(rest)

    return _VARIABLE.sub(value, text).replace("$$", "$")


def _environment(service: str) -> dict[str, str]:
    return {name: _filled(str(value)) for name, value in SERVICES[service].get("environment", {}).items()}


def _words(value: str | list[str]) -> list[str]:
    return [_filled(word) for word in ([value] if isinstance(value, str) else value)]


def test_every_key_is_one_that_compose_knows() -> None:
    assert {key for key in COMPOSE if not key.startswith("x-")} <= _TOP_KEYS
    for name, service in SERVICES.items():
        assert service.keys() <= _SERVICE_KEYS, name
        assert service.get("healthcheck", {}).keys() <= _HEALTH_KEYS, name


@pytest.mark.parametrize("name", SERVICES)
def test_what_a_service_refers_to_is_declared(name: str) -> None:
    service = SERVICES[name]
    assert set(service.get("networks", [])) <= COMPOSE["networks"].keys()
    assert set(service.get("secrets", [])) <= COMPOSE["secrets"].keys()
    named = {volume.split(":")[0] for volume in service.get("volumes", []) if not volume.startswith(".")}
    assert named <= COMPOSE["volumes"].keys()
    for target, rule in service.get("depends_on", {}).items():
        assert rule["condition"] in _CONDITIONS
        if rule["condition"] == "service_healthy":
            assert "test" in SERVICES[target]["healthcheck"]
        if rule["condition"] == "service_completed_successfully":
            assert target in ONE_SHOT
            assert SERVICES[target]["restart"] == "no"


def test_every_declared_volume_network_and_secret_is_used() -> None:
    for kind in ("volumes", "networks", "secrets"):
        used = {str(entry).split(":")[0] for service in SERVICES.values() for entry in service.get(kind, [])}
        assert COMPOSE[kind].keys() <= used


def test_compose_itself_accepts_the_file_where_it_is_installed() -> None:
    if not _has_compose():
        pytest.skip("no docker compose here; its rules are checked one by one above")
    command = ["docker", "compose", "--project-directory", str(ROOT), "--profile", "ollama", "config", "--quiet"]
    result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **SECRETS})
    assert result.returncode == 0, result.stderr


def _has_compose() -> bool:
    if shutil.which("docker") is None:
        return False
    return subprocess.run(["docker", "compose", "version"], capture_output=True).returncode == 0


def test_every_path_it_mounts_or_builds_from_exists() -> None:
    paths = [volume.split(":")[0] for service in SERVICES.values() for volume in service.get("volumes", [])]
    mounted = [path for path in paths if path.startswith(".")]
    assert "./ops/prometheus/alerts.yml" in mounted
    built = [service["build"]["dockerfile"] for service in SERVICES.values() if "build" in service]
    assert [path for path in (*mounted, *built) if not (ROOT / path).exists()] == []


def test_every_variable_is_a_setting_or_explained_beside_the_compose_file() -> None:
    names = {found["name"] for found in _VARIABLE.finditer(COMPOSE_TEXT)}
    assert names - SETTINGS - FOR_COMPOSE == set()
    assert FOR_COMPOSE - names == set(), "explained but not used"


def test_every_setting_that_an_operator_may_tune_reaches_our_processes() -> None:
    given = set(_environment("loop")) | set(_environment("worker"))
    # A scaled worker must not share its name with another, and an image has one home.
    assert SETTINGS - given == {"AFTERTHOUGHT_WORKER_NAME", "AFTERTHOUGHT_HOME"}
    common = set(_environment("loop")) & set(_environment("worker"))
    assert {name for name in common if f"${{{name}:-" in COMPOSE_TEXT} >= {
        environment_name(field) for field in Settings.model_fields if field.startswith(("memory_", "energy_", "price_"))
    }


@pytest.mark.parametrize("service", OURS)
def test_every_variable_given_to_our_processes_is_a_setting(service: str) -> None:
    # The headers are read by OpenTelemetry itself.
    assert _environment(service).keys() - SETTINGS == {"OTEL_EXPORTER_OTLP_HEADERS"}


@pytest.mark.parametrize("service", OURS)
def test_our_processes_accept_the_settings_they_are_given(
    service: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in _environment(service).items():
        monkeypatch.setenv(name, value)
    settings = read_settings()
    assert settings.database == "postgresql+psycopg://afterthought:p4ss@postgres:5432/afterthought"
    assert settings.redis_url == "redis://:r3d@redis:6379/0"
    assert settings.model is None


def test_loop_and_worker_listen_where_their_health_checks_and_prometheus_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, worker = _environment("loop"), _environment("worker")
    assert f":{loop['AFTERTHOUGHT_PORT']}/" in SERVICES["loop"]["healthcheck"]["test"][-1]
    assert SERVICES["loop"]["ports"][0].endswith(f":{loop['AFTERTHOUGHT_PORT']}")
    assert f":{worker['AFTERTHOUGHT_WORKER_METRICS_PORT']}/" in SERVICES["worker"]["healthcheck"]["test"][-1]


def test_a_worker_is_given_time_to_end_what_it_began() -> None:
    hard_limit = default_settings().hard_limit_seconds
    assert int(SERVICES["worker"]["stop_grace_period"].removesuffix("s")) > hard_limit


@pytest.mark.parametrize("name", SERVICES)
def test_no_secret_is_in_the_file(name: str) -> None:
    for key, value in SERVICES[name].get("environment", {}).items():
        # Settings that count or price tokens come from outside whole, so nothing of theirs stands in the file.
        counts_tokens = key not in SECRETS and value == f"${{{key}:-}}"
        if re.search(r"PASSWORD|TOKEN|SECRET|_KEY$", key) and not counts_tokens:
            assert re.fullmatch(r"\$\{\w+:\?[^}]+\}", value), f"{key} must come from outside, with a message if missing"
        password = re.search(r"://[^:/@]*:(.*)@", str(value))
        if password:
            assert re.fullmatch(r"\$\{\w+:\?[^}]+\}", password[1]), f"the password in {key} must come from outside"


def test_the_example_file_has_no_value_for_a_secret() -> None:
    assert {f"{name}=" for name in SECRETS} <= set(ENV_EXAMPLE.splitlines())


@pytest.mark.parametrize("name", sorted(SERVICES.keys() - {"ollama-volume"}))
def test_nothing_that_stays_runs_as_root(name: str) -> None:
    user = SERVICES[name].get("user") or _last("USER", DOCKERFILE)
    assert re.fullmatch(r"[1-9]\d*:\d+", user), user


def _last(instruction: str, dockerfile: str) -> str:
    return re.findall(rf"^{instruction} (.*)$", dockerfile, re.MULTILINE)[-1]


@pytest.mark.parametrize("name", SERVICES)
def test_no_service_can_gain_rights(name: str) -> None:
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert set(service.get("cap_add", [])) <= ({"CHOWN"} if name == "ollama-volume" else set())
    assert service.get("read_only") or name in {"prometheus", "ollama-volume"}


@pytest.mark.parametrize("name", sorted(SERVICES.keys() - ONE_SHOT))
def test_everything_that_stays_has_a_health_check_and_is_restarted(name: str) -> None:
    assert SERVICES[name]["healthcheck"]["test"][0] in {"CMD", "CMD-SHELL"}
    assert SERVICES[name]["restart"] == "unless-stopped"


IMAGES = {name: service["image"] for name, service in SERVICES.items() if name not in OURS}
IMAGES["image of our own"] = SERVICES["loop"]["build"]["args"]["PYTHON_IMAGE"]


@pytest.mark.parametrize("name", IMAGES)
def test_an_image_is_named_by_a_version_that_an_operator_may_replace_by_a_digest(name: str) -> None:
    named = re.fullmatch(r"\$\{(\w+_IMAGE):-(.+):(v?\d+\.\d+(?:\.\d+)?[a-z-]*)\}", IMAGES[name])
    assert named, IMAGES[name]
    assert f"#{named[1]}={named[2]}:{named[3]}" in ENV_EXAMPLE.splitlines(), "the example shows what is in force"


def test_our_own_image_has_the_version_of_the_release() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert {SERVICES[name]["image"] for name in OURS} == {f"afterthought:{version}"}


def test_the_database_is_a_plain_postgresql_of_the_major_version_it_was_begun_with() -> None:
    # What was written by 17 does not start on another; pgvector is not used (decision 28).
    assert re.match(r"\$\{POSTGRES_IMAGE:-postgres:17\.", SERVICES["postgres"]["image"])


def test_what_is_published_is_published_on_this_machine_only() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert len(ports) == 3
    assert all(port.startswith("127.0.0.1:") for port in ports)


@pytest.mark.parametrize("service", ["redis", "postgres"])
def test_stores_are_on_the_closed_network_only(service: str) -> None:
    assert SERVICES[service]["networks"] == ["data"]
    assert COMPOSE["networks"]["data"] == {"internal": True}


def test_the_image_is_built_from_pins_and_ends_unprivileged_with_a_health_check() -> None:
    assert re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE) == ["${PYTHON_IMAGE}"] * 2
    base = re.search(r"^ARG PYTHON_IMAGE=(python:3\.11\.\d+-slim-\w+)$", DOCKERFILE, re.MULTILINE)
    assert base and DOCKERFILE.index("ARG PYTHON_IMAGE") < DOCKERFILE.index("\nFROM ")
    assert IMAGES["image of our own"] == f"${{PYTHON_IMAGE:-{base[1]}}}"
    assert "-c constraints.txt" in DOCKERFILE
    assert DOCKERFILE.rindex("HEALTHCHECK") > DOCKERFILE.rindex("\nUSER ") > DOCKERFILE.rindex("\nFROM ")


def test_everything_the_image_copies_exists_and_is_let_through_by_the_ignore_file() -> None:
    sources = [
        source.removeprefix("./")
        for line in re.findall(r"^COPY (?!--from)(.*)$", DOCKERFILE, re.MULTILINE)
        for source in line.split()[:-1]
    ]
    let_through = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert [source for source in sources if not (ROOT / source).exists()] == []
    assert set(sources) <= let_through


def test_everything_that_is_installed_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    kinds = ("test", "embedding", "engine")
    wanted = [*project["dependencies"], *(name for kind in kinds for name in extras[kind]), "setuptools", "uv"]
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = {_normal(line.partition("==")[0]) for line in lines}
    assert all(re.fullmatch(r"[a-zA-Z0-9._-]+==\S+", line) for line in lines)
    assert {_normal(re.split(r"[\[<>=; ]", name)[0]) for name in wanted} <= pinned


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _command(service: str) -> list[str]:
    """Return the service's command as it runs outside its container: with this interpreter's programs."""
    words = _words(SERVICES[service]["command"])
    programs = Path(sys.executable).parent
    return [str(programs / words[0]), *words[1:]]


def _outside(service: str, home: Path, **changes: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **_environment(service), "AFTERTHOUGHT_HOME": str(home), "PYTHONPATH": str(ROOT),
           "AFTERTHOUGHT_METRICS_DIR": str(home / "metrics"), **changes}  # fmt: skip
    return subprocess.run(_command(service), env=env, cwd=home, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("service", ["loop", "worker"])
def test_the_command_of_the_image_starts_and_reads_its_settings(service: str, tmp_path: Path) -> None:
    result = _outside(service, tmp_path, AFTERTHOUGHT_LEASE_SECONDS="-1")
    assert result.returncode == 2, result.stderr
    assert "AFTERTHOUGHT_LEASE_SECONDS" in result.stderr


def test_the_migration_command_makes_a_database(tmp_path: Path) -> None:
    result = _outside("migrate", tmp_path, DATABASE_URL=f"sqlite:///{tmp_path / 'x.db'}")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "x.db").exists()


@pytest.mark.integration
def test_the_redis_command_gives_a_lasting_store_that_asks_for_its_password(tmp_path: Path) -> None:
    (tmp_path / "valkey-server").symlink_to(find_binary())
    port = free_port()
    script = _words(SERVICES["redis"]["entrypoint"])
    script[2] = script[2].replace("/tmp/", f"{tmp_path}/")
    arguments = [str(tmp_path) if word == "/data" else word for word in _words(SERVICES["redis"]["command"])]
    env = {**os.environ, **_environment("redis"), "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    server = subprocess.Popen(
        [*script, *arguments, "--port", str(port), "--bind", "127.0.0.1"],
        env=env, cwd=tmp_path, stdout=subprocess.DEVNULL, preexec_fn=tied_to_me(),
    )  # fmt: skip
    try:
        with redis.Redis(port=port, password="r3d", retry=Retry(NoBackoff(), 0)) as client:
            wait_until(lambda: _answers(client), 20, "the server")
            answers = {key: client.config_get(key)[key] for key in ("appendonly", "appendfsync", "save")}
            assert answers == {"appendonly": "yes", "appendfsync": "everysec", "save": ""}
            assert client.config_get("maxmemory-policy")["maxmemory-policy"] == "noeviction"
        arguments_seen = Path(f"/proc/{server.pid}/cmdline")
        assert not arguments_seen.exists() or b"r3d" not in arguments_seen.read_bytes()
    finally:
        server.terminate()
        server.wait(20)


def _answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False


class _Answering(BaseHTTPRequestHandler):
    statuses: ClassVar[dict[str, int]] = {"/well": 200, "/ill": 503}

    def do_GET(self) -> None:
        self.send_response(self.statuses[self.path])
        self.end_headers()
        self.wfile.write(json.dumps({"database": self.path}).encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def answering() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Answering) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(("path", "status"), [("/well", 0), ("/ill", 1)], ids=["200", "503"])
def test_the_health_check_tells_well_from_ill_even_behind_a_proxy(path: str, status: int, answering: str) -> None:
    result = _healthy(answering + path)
    assert result.returncode == status, result.stderr
    assert ("503" in result.stdout) == bool(status)


def test_the_health_check_fails_when_nobody_listens() -> None:
    result = _healthy(f"http://127.0.0.1:{free_port()}/")
    assert result.returncode == 1
    assert "refused" in result.stdout


def _healthy(url: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "ops" / "docker" / "healthy.py"), url]
    env = {**os.environ, "http_proxy": "http://127.0.0.1:9"}
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=30)


@pytest.mark.parametrize("script", ["ops/up", "ops/test", ".ci/run", "ops/bootstrap.sh"])
def test_the_scripts_are_valid_bash_and_the_commands_executable(script: str) -> None:
    assert subprocess.run(["bash", "-n", str(ROOT / script)], capture_output=True).returncode == 0
    assert os.access(ROOT / script, os.X_OK) == (script != "ops/bootstrap.sh")
