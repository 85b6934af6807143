"""Values as plain English for a terminal: durations, times, decisions as sentences. Nothing here can control a terminal.

Everything is a pure function of its arguments; the time zone is one of them.
"""

from __future__ import annotations

from datetime import datetime, tzinfo

from tailhealth.core.model import Action, Decision, Evidence, Reason, Source

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_MANY = 1e17


def harmless(text: str, limit: int | None = None) -> str:
    r"""Return text from a log or a proxy so that it can't control a terminal.

    Whatever is not a plain printable character (control and C1 characters, bidirectional overrides, invisible and line
    separating ones, lone surrogates) is written as its escape, like `\x1b` or `\u202e`.

    Args:
        text: Anything.
        limit: Longest result in characters; what is cut off is shown as `…`.
    """
    shortened = limit is not None and len(text) > limit
    if shortened:
        text = text[:limit]
    if not text.isprintable():
        text = "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)
    if limit is not None and (shortened or len(text) > limit):
        text = text[: max(0, limit - 1)] + "…"
    return text


def duration(seconds: float) -> str:
    """Write a duration for people: `250 ms`, `33 s`, `1 min 30 s`, `2 h 5 min`, `3 d`."""
    if seconds < 0:
        return "-" + duration(-seconds)
    if seconds >= _MANY:
        return "for ever"
    if seconds < 0.9995:  # noqa: PLR2004 - what rounds to 1 s is written as 1 s
        return f"{seconds * 1000:.0f} ms"
    if seconds < 9.95:  # noqa: PLR2004 - a decimal place where it says something
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return _two(whole, _MINUTE, "min", 1, "s")
    if whole < _DAY:
        return _two(whole, _HOUR, "h", _MINUTE, "min")
    return _two(whole, _DAY, "d", _HOUR, "h")


def _two(whole: int, large: int, large_name: str, small: int, small_name: str) -> str:
    rest = whole % large // small
    return f"{whole // large} {large_name}" + (f" {rest} {small_name}" if rest else "")


def short(seconds: float | None) -> str:
    """Write a latency in at most five characters: `85ms`, `1.25s`, `33.1s`, `120s`, `12m`; `-` for None."""
    if seconds is None:
        return "-"
    steps = ((0.9995, 1000, 0, "ms"), (9.995, 1, 2, "s"), (99.95, 1, 1, "s"), (999.5, 1, 0, "s"), (59_970, 1 / 60, 0, "m"))
    for below, factor, places, unit in steps:
        if seconds < below:
            return f"{seconds * factor:.{places}f}{unit}"
    return f"{min(seconds / 3600, 9999):.0f}h"


def countdown(seconds: float) -> str:
    """Write the time that is left: `0:33`, `12:05`, `1:00:00`; `now` when nothing is."""
    if seconds <= 0:
        return "now"
    whole = int(-(-seconds // 1))
    minutes, rest = divmod(whole, 60)
    return f"{minutes}:{rest:02d}" if whole < _HOUR else f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


def clock(at: float, zone: tzinfo) -> str:
    """Write a moment (epoch seconds) as the time of day in a zone: `10:00:05`."""
    return f"{datetime.fromtimestamp(at, zone):%H:%M:%S}"


def moment(at: float, zone: tzinfo) -> str:
    """Write a moment (epoch seconds) with its date: `2026-11-30 10:00:05`."""
    return f"{datetime.fromtimestamp(at, zone):%Y-%m-%d %H:%M:%S}"


def by_kind(kinds: dict[str, int]) -> str:
    """Write counts by kind, the most frequent first: `5 abandoned, 1 status`."""
    return ", ".join(f"{count} {harmless(kind)}" for kind, count in sorted(kinds.items(), key=lambda one: (-one[1], one[0])))


def sentence(decision: Decision, zone: tzinfo, *, dated: bool = False, marked: bool = True) -> str:
    """Say what was decided and why, in one line.

    Args:
        decision: What to tell of.
        zone: Time zone of the time in front.
        dated: Put the date in front of the time.
        marked: Say of a decision that was not enforced that it was not.
    """
    when = moment(decision.at, zone) if dated else clock(decision.at, zone)
    return f"{when} {harmless(decision.upstream)} {statement(decision, marked=marked)}"


def statement(decision: Decision, *, marked: bool = True) -> str:
    """Say what was decided and why, without the time and the upstream's name; for the arguments see `sentence`."""
    told = _TELLERS[decision.action](decision)
    why = f" ({harmless(decision.why)})" if decision.why else ""
    return told + why + ("" if decision.enforced or not marked else " [observed only, not applied]")


def _eject(decision: Decision) -> str:
    by = " by the operator" if decision.source is Source.OPERATOR else ""
    until = "until readmitted" if decision.until is None else f"for {duration(decision.until - decision.at)}"
    before = ""
    if decision.strikes and decision.source is Source.POLICY:
        before = f" ({decision.strikes} strike{'s' * (decision.strikes > 1)} before)"
    because = {
        Reason.CONSECUTIVE_REFUSED: "connections to it fail in a row; ",
        Reason.CONSECUTIVE_UNANSWERED: "it leaves request after request unanswered; ",
        Reason.PROBATION: "bad again on probation; ",
    }.get(decision.reason, "")
    proof = because + _shown(decision.evidence)
    return f"ejected{by} {until}{before}" + (f": {proof.removesuffix('; ')}" if proof else "")


def _readmit(decision: Decision) -> str:
    return {
        Reason.RELIEF: "readmitted early: too many of its pool would be out",
        Reason.OPERATOR: "readmitted by the operator",
        Reason.OPERATOR_CONFIG: "readmitted: the operator put it back in the proxy's configuration",
    }.get(decision.reason, "readmitted: its time out is over")


_GUARDS = {
    Reason.PAUSED: "decisions are paused",
    Reason.BLIND: "the log can't be trusted now",
    Reason.PINNED: "the operator pinned it in",
    Reason.PROTECTED: "it is protected",
    Reason.MAX_EJECTED: "too much of the pool would be out",
    Reason.MIN_SERVING: "too few would be left serving",
    Reason.COMMON_CAUSE: "it is not clearly worse than its peers",
    Reason.SETTLE: "the pool has just lost another and needs to settle",
}


def guard(reason: str) -> str:
    """Say what a guard objects (DESIGN section 7); unknown names are returned as they are, made harmless."""
    return _GUARDS[Reason(reason)] if reason in _GUARDS else harmless(reason)


def _withheld(decision: Decision) -> str:
    if decision.source is Source.OPERATOR:
        return "not ejected: nothing would be left serving in its pool; --force does it all the same"
    proof = _shown(decision.evidence)
    return f"kept in, {guard(decision.reason)}" + (f": {proof}" if proof else "")


def _recovered(decision: Decision) -> str:
    proof = _shown(decision.evidence)
    if decision.reason is Reason.UNTESTED:
        return "is off probation without having been tested: no traffic came"
    if decision.reason is Reason.CLEARED:
        return "no longer needs to leave" + (f": {proof}" if proof else ": its bad requests are too old to count")
    return "recovered: it answers well on probation"


_TELLERS = {
    Action.EJECT: _eject,
    Action.READMIT: _readmit,
    Action.WITHHELD: _withheld,
    Action.RECOVERED: _recovered,
}


def _shown(evidence: Evidence) -> str:
    if not evidence.counted:
        return ""
    told = f"{evidence.bad or 'none'} of its last {evidence.counted} requests were bad"
    if evidence.counted == 1:
        told = "its last request was " + ("bad" if evidence.bad else "good")
    if evidence.kinds:
        told += f" ({by_kind(evidence.kinds)})"
    if evidence.peers is not None:
        told += f"; its peers: {evidence.peers.bad} of {evidence.peers.counted}"
    return told + (f"; p = {_chance(evidence.p)}" if evidence.p is not None else "")


def _chance(p: float) -> str:
    if p == 0:
        return "0"
    return f"{p:.2f}" if p >= 0.01 else f"{p:.1e}".replace("e-0", "e-")  # noqa: PLR2004 - below, only the power says something
