"""`tailhealth calibrate`: what it measures, proposes and warns of."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result

from tailhealth.cli.calibrate import command
from tailhealth.config import parse
from tests.sample_logs import Request, access_line

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
INCIDENT_A = str(SAMPLES / "a-wedged-node/access.jsonl")
POOLS = """
[[bad.route]]
path = "/api/version"
slower_than = "5s"
[[bad.route]]
path = "/ping"
ignore = true
[pool."chat \\"x\\""]
upstreams = ["10.0.0.1:80", "10.0.0.2:80"]
path = "/api/*"
[pool.rest]
upstreams = ["10.0.0.3:80"]
"""


def calibrate(*arguments: str, stdin: bytes | None = None) -> Result:
    """Run the command."""
    return CliRunner().invoke(command, list(arguments), input=stdin, catch_exceptions=False)


@cache
def found(*arguments: str) -> dict[str, Any]:
    """Run it for scripts, once for each log: all tests only read what it found."""
    result = calibrate("--json", *arguments)
    assert result.exit_code == 0, result.stderr
    record: dict[str, Any] = orjson.loads(result.stdout)
    return dict(record["calibration"])


def request(number: int, seconds: float, path: str = "/api/chat", upstream: str = "10.0.0.1:80", **more: Any) -> Request:
    """Make a request every ten seconds."""
    ended = 1_796_029_200.0 + number * 10
    values: dict[str, Any] = {"answered": True, "client": "192.0.2.1", "port": number, "host": "h"}
    return Request(ended - seconds, ended, upstream, more.pop("status", 200), path=path, **(values | more))


def write(folder: Path, requests: list[Request], config: str = "") -> list[str]:
    """Write a log and a configuration; return the arguments that name them."""
    (folder / "access.jsonl").write_bytes(b"".join(map(access_line, sorted(requests, key=lambda one: one.ended))))
    (folder / "tailhealth.toml").write_text(config)
    return ["-c", str(folder / "tailhealth.toml"), str(folder / "access.jsonl")]


def test_incident_a_gets_a_threshold_above_its_longest_healthy_answer() -> None:
    """120 s, as its author found by hand; that would have ejected the wedged node and nothing else."""
    (place,) = found(INCIDENT_A)["places"]

    assert place["proposed"] == 120.0 > place["healthy"]["longest"] > 59.0
    assert place["margin"] == pytest.approx(2.0, abs=0.01)
    assert found(INCIDENT_A)["proposed_would"]["upstreams"] == ["10.0.7.13:11434"]


def test_incident_a_ten_seconds_would_have_removed_three_of_four() -> None:
    """The figure of the incident: nearly every healthy answer takes longer than the first check's time limit."""
    (place,) = found(INCIDENT_A)["places"]
    ten = next(one for one in place["tried"] if one["slower_than"] == 10.0)

    assert (ten["removed"], ten["of"]) == (3, 4)
    assert ten["healthy_share"] > 0.9
    assert "10s would have removed 3 of 4 at once" in calibrate(INCIDENT_A).stdout


@pytest.mark.parametrize("name", [path.name for path in sorted(SAMPLES.iterdir()) if (path / "tailhealth.toml").exists()])
def test_the_fragment_of_each_sample_is_a_configuration(name: str) -> None:
    """What `--write` prints is read as it is, and has the proposal; the figures stand in comments."""
    log = str(SAMPLES / name / "access.jsonl")
    text = calibrate("--write", log).stdout
    (place,) = found(log)["places"]

    assert parse(text.encode()).bad.slower_than == place["proposed"]
    assert "# Measured: p50 " in text


def test_a_low_threshold_does_not_confirm_itself(tmp_path: Path) -> None:
    """With `slower_than` at 1 s answers of 20 s are healthy all the same, and the warning says what it does to them."""
    requests = [request(n, 20.0 if n % 2 else 0.5) for n in range(100)]
    arguments = write(tmp_path, requests, '[bad]\nslower_than = "1s"\n')
    (place,) = found(*arguments)["places"]

    assert (place["healthy"]["answers"], place["proposed"], place["slower_than"]) == (100, 45.0, 1.0)
    assert any("slower_than is 1 s now, and healthy answers take longer" in one for one in found(*arguments)["warnings"])


def test_routes_pools_and_uploads_stand_apart(tmp_path: Path) -> None:
    """Each route of each pool has its figures; large bodies are shown and not judged; ignored routes are not there."""
    requests = [
        *(request(n, 20.0) for n in range(40)),
        *(request(n, 0.25, "/api/version", "10.0.0.2:80") for n in range(40)),
        *(request(n, 99.0, sent=2 << 20) for n in range(40)),
        *(request(n, 3.0, "/other", "10.0.0.3:80") for n in range(29)),
        *(request(n, 50.0, "/ping", "10.0.0.3:80") for n in range(40)),
    ]
    arguments = write(tmp_path, requests, POOLS)
    places = {(one["pool"], one["route"], one["uploads"]): one for one in found(*arguments)["places"]}

    assert {key: one["proposed"] for key, one in places.items()} == {
        ('chat "x"', None, False): 45.0,
        ('chat "x"', "/api/version", False): 0.5,
        ('chat "x"', None, True): None,
        ("rest", None, False): None,
    }
    assert any("too few data: 29 healthy answers" in one for one in found(*arguments)["warnings"])


def test_the_fragment_of_pools_and_routes_is_a_configuration(tmp_path: Path) -> None:
    """Tables keep what they are matched by, and routes their order: the first that matches wins."""
    requests = [request(n, 20.0) for n in range(40)] + [request(n, 0.25, "/api/version") for n in range(40)]
    text = calibrate("--write", *write(tmp_path, requests, POOLS)).stdout
    pool = parse(text.encode()).pool['chat "x"']

    assert (pool.upstreams, pool.path, pool.bad.slower_than) == (("10.0.0.1:80", "10.0.0.2:80"), ("/api/*",), 45.0)
    assert next((one.path, one.ignore, one.slower_than) for one in pool.bad.route) == (("/api/version",), False, 0.5)
    assert pool.bad.route[1].ignore is True


def test_a_fast_path_deserves_a_yardstick_of_its_own(tmp_path: Path) -> None:
    """Two paths that differ by a hundred times are told apart, and the remedy is named."""
    requests = [request(n, 20.0) for n in range(40)] + [request(n, 0.2, "/api/version") for n in range(40)]
    arguments = write(tmp_path, requests)

    assert found(*arguments)["places"][0]["own_routes"] == [{"path": "/api/version", "slower_than": 0.5}]
    assert "# /api/version never took longer than 199ms" in calibrate("--write", *arguments).stdout
    assert "by path" in calibrate(*arguments).stdout


def test_too_little_traffic_gets_another_within(tmp_path: Path) -> None:
    """One request in five minutes can't be judged within ten; the fragment has a `within` that can."""
    requests = [request(n * 30, 2.0) for n in range(60)]
    arguments = write(tmp_path, requests)
    (quiet,) = found(*arguments)["too_little_traffic"]
    text = calibrate("--write", *arguments).stdout

    assert quiet["proposed"] == parse(text.encode()).window.within > 1200.0
    assert "too little traffic" in calibrate(*arguments).stdout


@pytest.mark.parametrize(
    ("requests", "part"),
    [
        ([request(n, 1.0) for n in range(99)] + [request(99, 30.0)], "the longest healthy answer took 30 times p99"),
        (
            [request(n, 40.0 if n % 2 else 1.0, upstream=f"10.0.0.{n % 2}:80") for n in range(100)],
            "10.0.0.1:80 is much slower than its peers",
        ),
        (
            [request(n, 20.0) for n in range(50)] + [request(n, 30.0, answered=False, status=504) for n in range(9)],
            "the proxy itself gives up after 30 s",
        ),
        ([request(n, 1.0) for n in range(40)], "the log covers 6 min 30 s"),
        ([request(n, 1.0, answered=False, status=502) for n in range(40)], "no healthy answer with a header time was found"),
    ],
)
def test_what_the_figures_can_not_tell_is_said(tmp_path: Path, requests: list[Request], part: str) -> None:
    """Outliers, sick upstreams, the proxy's own limit, a short log, a log without answers."""
    arguments = write(tmp_path, requests)

    assert any(part in one for one in found(*arguments)["warnings"])
    assert calibrate(*arguments).exit_code == 0


def test_values_can_be_tried() -> None:
    """`--try` adds to what is tried; nonsense is refused."""
    (place,) = found(INCIDENT_A, "--try", "7s")["places"]

    assert 7.0 in [one["slower_than"] for one in place["tried"]]
    assert calibrate(INCIDENT_A, "--try", "7x").exit_code == 2
    assert calibrate(INCIDENT_A, "--try", "0").exit_code == 2


def test_standard_input_is_measured_and_not_replayed() -> None:
    """It can't be read twice, and that is said."""
    result = calibrate("-", stdin=Path(INCIDENT_A).read_bytes())

    assert 'slower_than = "2m"' in result.stdout
    assert "would have removed" not in result.stdout
    assert "can't be read twice" in result.stderr


def test_hostile_paths_stay_text(tmp_path: Path) -> None:
    """Control characters, quotes and newlines of paths reach neither the terminal nor the fragment; queries nothing at all."""
    requests = [request(n, 20.0) for n in range(40)] + [request(n, 0.2, '/x\x1b[2J"\n[bad]?key=SECRET') for n in range(40)]
    arguments = write(tmp_path, requests)
    text, fragment = calibrate(*arguments).stdout, calibrate("--write", *arguments).stdout

    assert "\x1b" not in text + fragment
    assert "SECRET" not in text + fragment + calibrate("--json", *arguments).stdout
    assert parse(fragment.encode()).bad.slower_than == 45.0


def test_wrong_usage(tmp_path: Path) -> None:
    """No log, no lines, two outputs at once: one line each, with their exit codes."""
    (tmp_path / "empty.log").touch()

    assert calibrate(str(tmp_path / "none.log")).exit_code == 2
    assert calibrate(str(tmp_path / "empty.log")).exit_code == 1
    assert calibrate("--json", "--write", INCIDENT_A).exit_code == 2
