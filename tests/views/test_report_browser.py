"""The report in a real Chromium: plots, spans where the decisions are, silence on the network, light and dark."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from tailhealth.cli.replay import command as replay
from tests.sample_logs import Request, write_log
from tests.views.browser import PATIENCE, PROGRAM, Browser
from tests.views.colors import COLORS, PLOT, contrast, readable

pytestmark = [
    pytest.mark.outside,
    pytest.mark.skipif(PROGRAM is None, reason="no Chromium is installed (Debian: apt-get install chromium)"),
]

SAMPLE = Path(__file__).resolve().parents[2] / "samples/a-wedged-node"
DECISIONS = [orjson.loads(line) for line in (SAMPLE / "decisions.jsonl").read_bytes().splitlines()[:-1]]


def write_report(folder: Path, log: Path, *options: str) -> Path:
    """Make a report with the real command."""
    page = folder / "report.html"
    result = CliRunner().invoke(replay, [*options, "--report", str(page), str(log)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return page


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of incident A."""
    folder = tmp_path_factory.mktemp("report")
    return write_report(folder, SAMPLE / "access.jsonl", "-c", str(SAMPLE / "tailhealth.toml"))


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser for all tests of this module."""
    with Browser() as browser:
        yield browser


@pytest.fixture
def opened(chromium: Browser, page: Path) -> Browser:
    """The browser with the report of incident A, in light. Loading it takes long: tests leave it as they found it."""
    if chromium.at != page.absolute().as_uri():
        chromium.prefer("light")
        chromium.open(page)
    return chromium


def at(text: str) -> float:
    """Read a moment as it stands in a plot."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def test_every_attempt_is_drawn(opened: Browser) -> None:
    """One WebGL plot per upstream, with as many points in all as there were attempts, on screen."""
    traces = opened.evaluate(f"{PLOT}.data.filter((one) => one.meta.shown).map((one) => [one.type, one.yaxis, one.x.length])")

    assert {kind for kind, _, _ in traces} == {"scattergl"}
    assert {axis for _, axis, _ in traces} == {"y", "y2", "y3", "y4"}
    assert sum(count for _, _, count in traces) == 632
    assert opened.evaluate("document.querySelectorAll('.no-webgl').length") == 0
    assert opened.evaluate(f"{PLOT}.querySelector('.gl-canvas').getBoundingClientRect().height") > 600


BLUE = """(url) => new Promise((done) => {
  const image = new Image(), context = document.createElement('canvas').getContext('2d');
  image.onload = () => {
    context.canvas.width = 800;
    context.canvas.height = 600;
    context.drawImage(image, 0, 0);
    const pixels = context.getImageData(0, 0, 800, 600).data;
    let blue = 0;
    for (let i = 0; i < pixels.length; i += 4) if (pixels[i + 2] > pixels[i] + 40) blue += 1;
    done(blue);
  };
  image.src = url;
})"""


def test_points_are_painted(opened: Browser) -> None:
    """The canvas is not empty: a copy of it holds coloured points."""
    painted = opened.evaluate(f"Plotly.toImage({PLOT}, {{format: 'png', width: 800, height: 600}}).then({BLUE})")

    assert painted > 500


def test_spans_are_where_the_decisions_are(opened: Browser) -> None:
    """Each ejection is a span up to its readmission, each probation one up to what ended it, all in the wedged node's plot."""
    shapes = opened.evaluate(
        f"{PLOT}.layout.shapes.filter((one) => one.type === 'rect').map((o) => [o.name, o.yref, o.x0, o.x1])"
    )
    spans: dict[str, list[tuple[float, float]]] = {"out": [], "probation": []}
    for name, _, start, end in shapes:
        spans[name].append((at(start), at(end)))
    moments = [one["at"] for one in DECISIONS]
    actions = [one["action"] for one in DECISIONS]
    ends = list(zip(actions, moments, moments[1:], strict=False))

    assert {axis for _, axis, _, _ in shapes} == {"y domain"}
    for name, action in (("out", "eject"), ("probation", "readmit")):
        expected = [(start, end) for own, start, end in ends if own == action]
        assert len(spans[name]) == len(expected) == 4
        for span, wanted in zip(spans[name], expected, strict=True):
            assert span == pytest.approx(wanted, abs=0.002)


def test_thresholds_are_lines(opened: Browser) -> None:
    """`slower_than` and `abandoned_after` stand in every plot, with their values."""
    lines = opened.evaluate(
        f"{PLOT}.layout.shapes.filter((o) => o.type === 'line').map((o) => [o.name, o.yref, o.y0, o.label.text])"
    )

    assert len(lines) == 8
    assert ["slower_than", "y3", 120, "slower_than 2 min"] in lines
    assert ["abandoned_after", "y3", 60, "abandoned_after 1 min"] in lines


def test_what_was_not_answered_is_a_lower_bound(opened: Browser) -> None:
    """Abandoned attempts are triangles at their wait, hollow where they did not count."""
    found = opened.evaluate(
        f"{PLOT}.data.filter((o) => o.meta.kind === 'abandoned').map((o) => [o.meta.aside, o.marker.symbol, Math.max(...o.y)])"
    )

    assert {(aside, symbol) for aside, symbol, _ in found} == {
        ("", "triangle-up"),
        ("before_action", "triangle-up-open"),
        ("while_out", "triangle-up-open"),
    }
    assert [round(wait) for _, _, wait in found] == [150, 150, 150]


PLACE = f"""(wanted, number) => {{
  const plot = {PLOT}, layout = plot._fullLayout, trace = plot._fullData.find(wanted), box = plot.getBoundingClientRect();
  const x = layout.xaxis, y = layout[trace.yaxis.replace('y', 'yaxis')];
  return [box.x + x._offset + x.d2p(trace.x[number]), box.y + y._offset + y.d2p(trace.y[number])];
}}"""


def hover(browser: Browser, trace: str, number: int, title: str) -> str:
    """Move the mouse over a point of the first trace that fits; return what the page says about it, once it has this title.

    It is moved again and again, as a hand does: a page that still scrolls smoothly to some place carries the point away.
    """
    told = f"!document.getElementById('tip').hidden && document.querySelector('#tip b').textContent.includes('{title}')"
    deadline = time.monotonic() + PATIENCE
    while True:
        browser.evaluate(f"{PLOT}.scrollIntoView()")
        x, y = browser.evaluate(f"({PLACE})((one) => {trace}, {number})")
        browser.move_mouse(x - 60, y + 3)
        browser.move_mouse(x, y)
        if browser.comes(told, 0.5):
            break
        assert time.monotonic() < deadline, f"nothing is told of {title}"
    return str(browser.evaluate("document.getElementById('tip').innerText"))


def test_a_decision_shows_its_evidence(opened: Browser) -> None:
    """Over the first ejection stand its moment, its sentence and all that it was taken on."""
    text = hover(opened, "one.meta.decisions", 0, "ejected")

    for part in (
        "2026-11-30 09:12:50 ejected",
        "5 of its last 8 requests were bad",
        "peers: 0 bad of 49 counted",
        "1.3e-05",
        "until: ",
    ):
        assert part in text


def test_an_attempt_tells_of_itself(opened: Browser) -> None:
    """Over a bad attempt stand its kind, status, wait and route; never the query or the client."""
    text = hover(opened, "one.meta.kind === 'abandoned' && one.meta.aside === ''", 0, "abandoned")

    for part in ("bad: abandoned by the client", "no header; it waited 2 min 30 s", "POST /api/chat"):
        assert part in text
    assert "192.0.2." not in text


def test_nothing_is_asked_of_the_network(opened: Browser, page: Path) -> None:
    """The page is all that is loaded, it complains of nothing, and its policy forbids the rest."""
    opened.evaluate(f"{PLOT}.scrollIntoView()")
    outside = [one for one in opened.requests() if not one.startswith(("data:", "blob:"))]

    assert outside == [page.absolute().as_uri()]
    assert opened.complaints() == []
    before = list(opened.events)
    refused = "fetch('http://127.0.0.1:9/').then(() => 'sent', () => 'refused')"
    assert opened.evaluate(refused) == "refused"
    assert any("Content Security Policy" in one for one in opened.complaints())
    opened.events = before


def test_no_button_sends_the_chart_away(opened: Browser) -> None:
    """Plotly's own buttons include one that uploads; the page has only those that look at the plot or save a picture."""
    titles = opened.evaluate("[...document.querySelectorAll('.modebar-btn')].map((one) => one.dataset.title)")

    assert titles == ["Download plot as a PNG", "Zoom", "Pan", "Zoom in", "Zoom out", "Reset axes"]
    assert opened.evaluate("document.querySelectorAll('.js-plotly-plot a[href]:not(.modebar-btn)').length") == 0


def test_light_and_dark_are_readable(opened: Browser) -> None:
    """The page follows the reader's preference, also while it is open, and all stands out in both."""
    light = opened.evaluate(COLORS)
    opened.prefer("dark")
    opened.wait(f"{PLOT}._fullLayout.paper_bgcolor === '#1b1f25'")
    dark = opened.evaluate(COLORS)
    opened.prefer("light")
    opened.wait(f"{PLOT}._fullLayout.paper_bgcolor === '#ffffff'")

    readable(light)
    readable(dark)
    assert contrast(light["page"], "rgb(0, 0, 0)") > 15
    assert contrast(dark["page"], "rgb(0, 0, 0)") < 2


def test_a_decision_in_the_list_zooms_the_plots(opened: Browser) -> None:
    """A click on its moment shows the minutes around it; the button shows the whole period again."""
    opened.evaluate("document.querySelectorAll('[data-at]')[2].click()")
    opened.wait(f"Date.parse({PLOT}.layout.xaxis.range[0] + 'Z') / 1000 > {DECISIONS[2]['at'] - 400}")
    start, end = (at(one) for one in opened.evaluate(f"{PLOT}.layout.xaxis.range.map(String)"))
    assert start < DECISIONS[2]["at"] < end < DECISIONS[2]["at"] + 400

    opened.evaluate("document.getElementById('whole').click()")
    opened.wait(f"Date.parse({PLOT}.layout.xaxis.range[0] + 'Z') / 1000 < {DECISIONS[0]['at'] - 600}")


def test_the_scale_can_be_linear(opened: Browser) -> None:
    """The button changes all plots to a linear axis and back."""
    for scale in ("linear", "log"):
        opened.evaluate("document.getElementById('scale').click()")
        opened.wait(f"{PLOT} && {PLOT}._fullLayout.yaxis4?.type === '{scale}'")
    assert opened.complaints() == []


HOSTILE = "</script><script>window.pwned=1</script><img src=x onerror=window.pwned=1>"


def test_what_clients_send_stays_text(chromium: Browser, tmp_path: Path) -> None:
    """Markup in paths, hosts and methods of a log runs nowhere: not in the page, not in a plot, not on hover."""
    hits = [(f"/{HOSTILE}?secret=1", 500), ("/<b>%3Cscript%3E", 500), ("/fine", 200)]
    requests = [
        Request(
            *(1e9 + n, 1e9 + n + 0.3, f"10.0.0.{n % 2}:80", hits[n % 3][1]),
            answered=True,
            client="192.0.2.7",
            port=n,
            path=hits[n % 3][0],
            host=HOSTILE,
        )
        for n in range(60)
    ]
    write_log(tmp_path / "access.jsonl", requests)
    page = write_report(tmp_path, tmp_path / "access.jsonl")
    chromium.open(page)
    text = hover(chromium, "one.meta.kind === 'status'", 6, "bad: status")

    assert "<script>" in text
    assert chromium.evaluate("window.pwned === undefined && document.querySelectorAll('img[src=x]').length === 0") is True
    assert chromium.complaints() == []
    content = page.read_text()
    assert "secret=1" not in content
    assert "192.0.2.7" not in content


def test_without_webgl_the_plots_are_drawn_all_the_same(page: Path) -> None:
    """A browser without WebGL (a remote desktop, a virtual machine) gets points of another make."""
    with Browser("--disable-3d-apis") as browser:
        browser.open(page)
        kinds = browser.evaluate(f"[...new Set({PLOT}.data.map((one) => one.type))]")

        assert kinds == ["scatter"]
        assert browser.evaluate(f"{PLOT}.querySelectorAll('.scatterlayer .point').length") == 632 + len(DECISIONS)
        assert browser.complaints() == []
