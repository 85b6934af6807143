"""The alert rules and the dashboard: every metric, label and word of a closed set in them is one that tailhealth has."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tailhealth.cli import SUMMARIES
from tailhealth.core.model import Action, Kind, Reason, Verdict
from tailhealth.core.view import Standing
from tailhealth.service.metrics import families
from tests.service.told import status

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
RULES = ROOT / "contrib" / "prometheus" / "rules.yml"
DASHBOARD = ROOT / "contrib" / "grafana" / "dashboard.json"
PROMTOOL = shutil.which("promtool")
ADDED = {"instance", "job"}
"""Labels that Prometheus adds to what it scrapes."""
CLOSED = {
    "state": {*Standing},
    "outcome": {*Verdict},
    "kind": {*Kind},
    "action": {*Action},
    "reason": {*Reason},
    "result": {"done", "failed"},
    "enforced": {"true", "false"},
}
SELECTOR = re.compile(r"\b(tailhealth_\w+)(?:\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')
GROUPING = re.compile(r"\bby \(([^)]*)\)")


def metrics() -> dict[str, set[str]]:
    """Return the name of every series with its labels."""
    found: dict[str, set[str]] = {}
    for family in families(status()):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


METRICS = metrics()


def rules() -> list[dict[str, Any]]:
    """Return the alert rules."""
    groups = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def dashboard() -> dict[str, Any]:
    """Return the dashboard."""
    read: dict[str, Any] = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    return read


def queries(of: Any) -> Iterator[str]:
    """Find every query in a dashboard, of panels, variables and annotations."""
    if isinstance(of, list):
        for one in of:
            yield from queries(one)
    elif isinstance(of, dict):
        for key, one in of.items():
            if key in ("expr", "definition") and isinstance(one, str):
                yield one
            else:
                yield from queries(one)


EXPRESSIONS = [*(rule["expr"] for rule in rules()), *queries(dashboard())]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_what_an_expression_names_exists(expression: str) -> None:
    """Metrics, the labels that select them, the words of closed sets, and the labels that are grouped by."""
    selected = SELECTOR.findall(expression)
    assert selected
    known: set[str] = set(ADDED)
    for name, matchers in selected:
        assert name in METRICS, name
        known |= METRICS[name]
        for label, sign, value in MATCHER.findall(matchers):
            assert label in METRICS[name] | ADDED, f"{name} has no label {label}"
            # `tailhealth_condition` and log lines have kinds and reasons of their own.
            if label in CLOSED and not value.startswith("$"):
                words = value.split("|") if sign in ("=~", "!~") else [value]
                assert set(words) <= CLOSED[label], f"{label}: {value}"
    for labels in GROUPING.findall(expression):
        assert {one.strip() for one in labels.split(",")} <= known | {"le"}


def test_every_metric_is_shown() -> None:
    """A metric that the dashboard has no place for would be one that nobody looks at."""
    shown = {name for expression in queries(dashboard()) for name, _ in SELECTOR.findall(expression)}

    assert {re.sub(r"_(bucket|sum|count)$", "", name) for name in METRICS} == {
        re.sub(r"_(bucket|sum|count)$", "", name) for name in shown
    }


def test_alerts() -> None:
    """Each alert has a name of its own, a severity, and tells what to do; templates use labels that its expression keeps."""
    found = rules()
    assert len({rule["alert"] for rule in found}) == len(found)
    for rule in found:
        assert re.fullmatch(r"Tailhealth[A-Za-z]+", rule["alert"])
        assert rule["labels"]["severity"] in ("critical", "warning", "info")
        assert set(rule["annotations"]) == {"summary", "description"}
        grouped = GROUPING.search(rule["expr"])
        kept = (
            {one.strip() for one in grouped[1].split(",")}
            if grouped
            else {label for name, _ in SELECTOR.findall(rule["expr"]) for label in METRICS[name]}
        )
        used = set(re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values())))
        assert used <= kept, f"{rule['alert']} names labels that are gone: {used - kept}"


def test_commands_in_the_alerts_exist() -> None:
    """An alert that names a command names one that there is."""
    named = {name for rule in rules() for name in re.findall(r"`tailhealth ([a-z]+)", str(rule["annotations"]))}
    assert named
    assert named <= set(SUMMARIES)


def test_the_dashboard_can_be_imported() -> None:
    """Panels have ids of their own, do not overlap, and take their data from the variable, not from somebody's own source."""
    shown = dashboard()
    panels = shown["panels"]
    assert len({one["id"] for one in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for one in panels:
        place = one["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
        assert max(x for x, _ in cells) < 24
        assert not cells & taken, one["title"]
        taken |= cells
        assert one["type"] == "row" or one["datasource"]["uid"] == "${datasource}"
    assert "__inputs" not in shown
    assert shown.get("id") is None


@pytest.mark.outside
@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed")
@pytest.mark.parametrize(
    "words", [("check", "rules", str(RULES)), ("test", "rules", str(ROOT / "tests" / "rules.promtool.yml"))]
)
def test_prometheus_takes_the_rules(words: tuple[str, ...]) -> None:
    """Prometheus' own tool reads them, and each alert that is tried speaks when it should and not before."""
    assert PROMTOOL is not None
    done = subprocess.run([PROMTOOL, *words], capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.outside
@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed")
def test_prometheus_takes_the_queries_of_the_dashboard(tmp_path: Path) -> None:
    """With Grafana's variables filled in, every query of a panel is right PromQL."""
    assert PROMTOOL is not None
    wanted = [one for panel in dashboard()["panels"] for one in queries(panel)]
    filled = [re.sub(r"\[\$__\w+\]", "[5m]", one).replace('"$instance"', '".*"') for one in wanted]
    recorded = [{"record": f"q{number}", "expr": one} for number, one in enumerate(filled)]
    file = tmp_path / "queries.yml"
    file.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": recorded}]}), encoding="utf-8")
    done = subprocess.run([PROMTOOL, "check", "rules", str(file)], capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
