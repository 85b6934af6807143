"""Other rules while it runs: nothing that is known is lost, and what was held is asked about again (DESIGN section 8)."""

from __future__ import annotations

from typing import Any

import msgspec

from tailhealth.core.model import Action, Carried, Ejection, Paused, Reason, Reconfigured, Source, Started, Verb
from tailhealth.core.rules import BadRules, GuardRules, PoolRules, ProbationRules, Settings, WindowRules, Yardstick
from tests.core.harness import Story, clock, pool, rules

EJECT, READMIT, WITHHELD, RECOVERED = Action.EJECT, Action.READMIT, Action.WITHHELD, Action.RECOVERED
UNGUARDED = GuardRules(common_cause=False)


def story(*nodes: str, **settings: Any) -> Story:
    """Return a pool without a common cause guard."""
    return Story(*nodes, settings=rules(**({"guard": UNGUARDED} | settings)))


def reread(told: Story, pools: dict[str, PoolRules] | None = None, **settings: Any) -> Story:
    """Let other rules hold from now on."""
    before = told.engine.settings
    default = rules(**({"guard": UNGUARDED} | settings))
    return told.feed(Reconfigured(told.now, before, Settings(before.lateness, default, pools or {})))


def test_windows_are_kept_and_judged_by_the_new_threshold() -> None:
    """Three bad ones were not enough for the old rules; the fourth outcome is judged with them, by the new ones."""
    told = story("a", "b").fails("a", times=3)
    reread(told, window=WindowRules(min_requests=6)).fails("a").expects_nothing()
    told.fails("a").expects_nothing().fails("a").expects(EJECT, "a", Reason.RATIO)


def test_a_reload_trips_nothing_by_itself() -> None:
    """A stricter rule waits for the next bad outcome."""
    told = reread(story("a", "b").fails("a", times=3), window=WindowRules(min_requests=2)).expects_nothing()
    told.at("10:00:20").expects_nothing().fails("a").expects(EJECT, "a", Reason.RATIO)


def test_a_running_ejection_keeps_its_end() -> None:
    """It ends when it was told to, not when the new `for` would have it."""
    told = story("a", "b").fails("a", times=4).expects(EJECT, "a", Reason.RATIO, until="10:00:30")
    reread(told.at("10:00:10"), probation=None).at("10:00:29.9").expects_nothing()
    told.at("10:00:30").expects(READMIT, "a", Reason.TIMER).fails("a", times=3).expects_nothing()


def test_a_probation_that_was_switched_off_ends() -> None:
    """Without probation a readmitted upstream serves like any other, at once."""
    told = story("a", "b").fails("a", times=4).expects(EJECT, "a", Reason.RATIO)
    told.at("10:00:30").expects(READMIT, "a", Reason.TIMER)
    reread(told.at("10:00:31"), probation=None).expects(RECOVERED, "a", Reason.PROBATION)


def test_probation_by_the_new_rules() -> None:
    """One more good outcome is asked for, and one more bad one allowed."""
    told = story("a", "b").fails("a", times=4).expects(EJECT, "a", Reason.RATIO)
    told.at("10:00:30").expects(READMIT, "a", Reason.TIMER).answers("a", times=2)
    reread(told, probation=ProbationRules(requests=4, bad=2)).answers("a").fails("a").expects_nothing()
    told.answers("a").expects(RECOVERED, "a", Reason.PROBATION)


def test_what_a_guard_held_is_asked_about_again() -> None:
    """An upstream that is no longer protected leaves at the reload: it tripped, and nothing objects now."""
    told = story("a", "b", guard=GuardRules(common_cause=False, protected=("a",)))
    told.fails("a", times=4).expects(WITHHELD, "a", Reason.PROTECTED)
    reread(told.at("10:00:01")).expects(EJECT, "a", Reason.RATIO, at="10:00:01")


def test_what_is_bad_changes_with_the_next_attempt() -> None:
    """What was judged stays; what comes is judged anew, on the fast path and beside it."""
    strict = BadRules(Yardstick(slower_than=0.5))
    told = story("a", "b").answers("a", times=8, header=1.0)
    reread(told.at("10:01:00"), bad=strict).answers("a", times=4, header=0.49).expects_nothing()
    told.at("10:02:00").answers("a", times=4, header=0.5).expects_nothing()
    told.answers("a", times=1, header=0.5).expects(EJECT, "a", Reason.RATIO)


def test_a_pause_stays() -> None:
    """Only `resume` ends a pause."""
    told = story("a", "b").orders(Verb.PAUSE).fails("a", times=4).expects(WITHHELD, "a", Reason.PAUSED)
    reread(told).expects_nothing()
    told.at("10:00:01").orders(Verb.RESUME).expects(EJECT, "a", Reason.RATIO)


def test_observed_from_now_on() -> None:
    """A pool that is only observed says so with each decision."""
    told = reread(story("a", "b").fails("a", times=3), enforce=False)
    told.fails("a").expects(EJECT, "a", Reason.RATIO, enforced=False)


def test_a_pool_with_a_new_name_is_the_same_pool() -> None:
    """A table that names the pool changes its rules and its name; its ejection, its windows and its pause go on."""
    told = story("a", "b", "c", "d").fails("a", times=4).expects(EJECT, "a", Reason.RATIO).fails("b", times=3)
    reread(told, pools={"chat": rules(guard=UNGUARDED, window=WindowRules(min_requests=5))})
    told.at("10:00:11").names(pool("a", "b", "c", "d", name="chat")).fails("b").expects_nothing()
    told.fails("b").expects(EJECT, "b", Reason.RATIO, pool="chat")
    told.at("10:00:30").expects(READMIT, "a", Reason.TIMER, pool="chat")


def test_one_more_upstream_in_a_pool_without_a_name() -> None:
    """The pool is named after its upstreams, so it gets another name; what is out stays out until its time is over."""
    told = Story(pool("a", "b", name="a+b"), settings=rules(guard=UNGUARDED))
    told.fails("a", times=4).expects(EJECT, "a", Reason.RATIO).names(pool("a", "b", "c", name="a+b+c"))
    told.at("10:00:29.9").expects_nothing().at("10:00:30").expects(READMIT, "a", Reason.TIMER, pool="a+b+c")


def test_a_pause_goes_with_its_pool() -> None:
    """A pool that was paused by its name is paused under the next one too."""
    told = story("a", "b").orders(Verb.PAUSE, pool="pool").names(pool("a", "b", name="chat"))
    told.fails("a", times=4).expects(WITHHELD, "a", Reason.PAUSED)
    assert [one.pool for one in told.engine.carry_paused()] == ["chat"]


def test_other_rules_are_left_alone() -> None:
    """A replay that asks what other rules would have done is not led back to those of the run."""
    told = story("a", "b")
    elsewhere = Settings(0.0, rules(guard=UNGUARDED, window=WindowRules(min_requests=8)))
    told.feed(Reconfigured(told.now, elsewhere, Settings())).fails("a", times=4).expects(EJECT, "a", Reason.RATIO)


def test_it_takes_its_place_in_the_order() -> None:
    """An attempt that ended before the reload is judged by the rules of its time, also if its line comes after it."""
    told = Story("a", "b", settings=rules(guard=UNGUARDED), lateness=1.0)
    before = told.engine.settings
    told.now = clock("10:00:02")
    reread(told, window=WindowRules(min_requests=8))
    told.now = clock("10:00:01.5")
    told.fails("a", times=4).at("10:00:05").expects(EJECT, "a", Reason.RATIO)
    assert told.engine.settings != before


def test_settings_survive_the_journal() -> None:
    """A reload written down and read back is the same reload."""
    one = Reconfigured(1.0, Settings(), Settings(pools={"chat": rules(backups=frozenset({"b"}))}))
    assert msgspec.convert(msgspec.json.decode(msgspec.json.encode(one)), Reconfigured) == one


def test_a_name_that_changed_while_nobody_ran() -> None:
    """The next run meets the pool under another name: what was carried over, pauses included, is found all the same."""
    ejection = Ejection(clock("10:00:00"), clock("10:00:30"), 0, Source.POLICY, Reason.RATIO)
    started = Started(clock("10:00:10"), (Carried("a+b", "a", ejection),), (Paused("a+b", None),))
    told = Story(pool("a", "b", name="chat"), settings=rules(guard=UNGUARDED), started=started, begins="10:00:10")
    told.fails("b", times=4).expects(WITHHELD, "b", Reason.PAUSED, pool="chat")
    told.at("10:00:30").expects(READMIT, "a", Reason.TIMER, pool="chat")
