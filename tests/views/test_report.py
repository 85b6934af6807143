"""The report as text: what is in it, what is not, and that a plot library would take it."""

from __future__ import annotations

import re
from base64 import b64encode
from datetime import timedelta, timezone
from hashlib import sha256
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from tailhealth.core.model import Action, Decision, Kind, Reason
from tailhealth.core.rules import BadRules, PoolRules, Route, Settings, Yardstick
from tailhealth.core.view import View
from tailhealth.views.points import Points
from tailhealth.views.report import report
from tailhealth.views.report_data import MOST_DRAWN, PER_FIGURE, Told, embedded, report_data
from tailhealth.views.report_summary import MOST_TOLD, About, notes_html, summary_html
from tailhealth.views.tables import Period
from tests.views.build import GOOD, T0, A, B, attempt, bad, decision, pool, upstream, view

PERIOD = Period(T0, T0 + 1000, timezone(timedelta(hours=1)))
STORY = [
    decision(Action.EJECT, Reason.RATIO, at=T0 + 100, until=T0 + 200),
    decision(Action.READMIT, Reason.TIMER, at=T0 + 200),
    decision(Action.RECOVERED, Reason.PROBATION, at=T0 + 300),
]
ABOUT = About("tailhealth.toml", ("access.log",), ())
TWO = view(pool(upstream(A), upstream(B, ejections=1, out_seconds=100.0, avoided_bad=7, lost_good=2, bad_total={"status": 4})))


def told(shown: View = TWO, decisions: list[Decision] = STORY) -> Told:
    """Make the result of a replay."""
    return Told(shown, decisions, PERIOD)


def points() -> Points:
    """Make some points."""
    found = Points(Settings())
    for number in range(10):
        found.observe(attempt(T0 + number, 0.5, uri="/x?key=SECRET", client="192.0.2.1"), "log", A, GOOD)
    found.observe(attempt(T0 + 50, 0.5, B, uri="/x?key=SECRET", client="192.0.2.1"), "log", B, bad(Kind.STATUS))
    return found


def data(**more: Any) -> dict[str, Any]:
    """Return what the plots are drawn from."""
    settings = more.pop("settings", Settings())
    return report_data(told(**more), points(), settings)


def page() -> str:
    """Return a whole page, with a short stand-in for plotly.js."""
    return report(ABOUT, told(), points(), Settings(), "const plotly = '{{data}}';")


def test_spans_and_decisions_stand_with_their_upstream() -> None:
    """Out from the ejection to the readmission, on probation until it recovered; evidence line by line."""
    first, second = data()["figures"][0]["upstreams"]

    assert (first["spans"], first["decisions"]) == ([], [])
    assert second["spans"] == [["out", T0 + 100, T0 + 200], ["probation", T0 + 200, T0 + 300]]
    assert second["decisions"][0]["title"] == "2026-11-29 11:01:40 ejected"
    assert second["decisions"][0]["evidence"] == [
        "reason: ratio (policy)",
        "window: 6 bad of 8 counted (5 abandoned, 1 status)",
        "peers: 0 bad of 24 counted",
        "chance that its peers would show this too: 3.1e-05",
        "until: 2026-11-29 11:03:20",
        "strikes before: 0",
    ]


def test_points_are_packed_as_browsers_read_them() -> None:
    """Little-endian numbers in base64, one per point."""
    (series,) = data()["figures"][0]["upstreams"][1]["series"]

    assert (series["kind"], series["seen"], series["kept"]) == ("status", 1, 1)
    assert series["seconds"] == b64encode(b"\x00\x00\x00\x3f").decode()
    assert series["status"] == b64encode((200).to_bytes(2, "little")).decode()


def test_thresholds_are_named_once() -> None:
    """Equal values of several routes are one line, and those of ignored routes none."""
    routes = (
        Route(Yardstick(slower_than=5.0, abandoned_after=None), paths=("/version",)),
        Route(Yardstick(slower_than=5.0, abandoned_after=None), ("GET",), (), ("/tags",)),
        Route(Yardstick(slower_than=1.0, ignore=True), paths=("/ping",)),
    )
    lines = data(settings=Settings(default=PoolRules(bad=BadRules(routes=routes))))["figures"][0]["lines"]

    assert [line["text"] for line in lines] == [
        "slower_than 2 min",
        "slower_than 5 s (/version, GET /tags)",
        "abandoned_after 1 min",
    ]


def test_many_upstreams_are_drawn_in_several_figures() -> None:
    """Those with decisions and bad attempts first; the page says how many are left out."""
    many = view(
        pool(*(upstream(f"10.0.{n // 250}.{n % 250}:80") for n in range(300)), upstream(B), upstream(A, bad_total={"slow": 1}))
    )
    figures = report_data(told(many), points(), Settings())["figures"]
    names = [one["name"] for figure in figures for one in figure["upstreams"]]

    assert len(names) == MOST_DRAWN
    assert {A, B} <= set(names)
    assert max(len(figure["upstreams"]) for figure in figures) == PER_FIGURE
    assert f"{MOST_DRAWN} of 302 upstreams are drawn" in notes_html(ABOUT, many, points())


def test_the_notes_tell_of_thinning() -> None:
    """Everything drawn is said, and what was left out too."""
    thinned = Points(Settings(), 4)
    for number in range(100):
        thinned.observe(attempt(T0 + number, 0.5), "log", A, GOOD)

    assert "Every attempt is drawn." in notes_html(ABOUT, TWO, points())
    assert "Thinned: every bad attempt is drawn; of up to 32 others in a row" in notes_html(ABOUT, TWO, thinned)


def test_the_summary_has_the_figures_that_matter() -> None:
    """Cards, a table with a strip per upstream, and the decisions in sentences."""
    text = summary_html(ABOUT, told())

    for part in (
        "<span>bad ones avoided</span><b>7</b>",
        "<span>least serving</span><b>1 of 2</b>",
        "1 min 40 s",
        "3 decisions",
    ):
        assert part in text
    assert text.count("<rect class='out' x='10.000%' width='10.000%'") == 1
    assert text.count("data-at=") == 3


def test_of_very_many_decisions_some_are_told() -> None:
    """The list stays readable; the plots show the rest."""
    text = summary_html(ABOUT, told(decisions=STORY[1:2] * (MOST_TOLD + 25)))

    assert text.count("data-at=") == MOST_TOLD
    assert "... 25 more decisions" in text


def test_only_the_two_scripts_of_the_page_may_run() -> None:
    """The policy holds the hash of each script as it stands in the page, and allows no connection, frame or form."""
    text = page()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)

    assert policy is not None
    assert policy[1].startswith("default-src 'none'; ")
    assert len(scripts) == 2
    for script in scripts:
        assert f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" in policy[1]
    assert "connect-src" not in policy[1]
    assert "unsafe-inline" not in policy[1].partition("style-src")[0]


def test_the_template_is_filled_once() -> None:
    """What looks like a place of the template inside a filled value stays as it is."""
    assert "const plotly = '{{data}}';" in page()


def test_nothing_of_a_client_is_in_the_page() -> None:
    """No query string, no address."""
    assert "SECRET" not in page()
    assert "192.0.2.1" not in page()


def test_no_address_of_another_site_is_in_the_page() -> None:
    """Nothing of ours could make a browser ask for something elsewhere."""
    assert re.findall(r"(?:src|href)=[\"']?(?!data:)[a-z/]", page()) == []


@given(st.text(st.characters(codec="utf-8")))
def test_embedded_json_says_the_same_and_ends_nothing(text: str) -> None:
    """Whatever the text, it is read back as it was, and no markup is in it."""
    written = embedded({"x": text})

    assert orjson.loads(written) == {"x": text}
    assert not set("<>&\u2028\u2029") & set(written)


def test_hostile_names_are_text_in_the_summary() -> None:
    """Upstreams, pools, files and notes with markup in them are shown, not obeyed."""
    evil = "<img src=x onerror=alert(1)>'\"&"
    shown = view(pool(upstream(evil, bad_total={evil: 1}), name=evil), pool(upstream(A), name="other"))
    about = About(evil, (evil,), (evil,))
    one = decision(Action.EJECT, Reason.RATIO, upstream=evil, pool=evil, why=evil)
    text = summary_html(about, told(shown, [one])) + notes_html(about, shown, points())

    assert "<img" not in text
    assert text.count("&lt;img src=x") >= 7
