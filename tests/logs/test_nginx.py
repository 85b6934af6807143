"""What an nginx line tells of its attempts (DESIGN section 3, nginx)."""

from __future__ import annotations

import pytest

from tailhealth.core.judge import judge
from tailhealth.core.model import End, Kind
from tailhealth.core.rules import BadRules
from tailhealth.logs.nginx_lists import KEPT
from tests.logs.nginx_lines import BASE, attempts, line, only, read

TWO = {"upstream_addr": "10.9.0.1:8080, 10.9.0.2:8080"}


def test_plain_line() -> None:
    """A good line gives one attempt with everything that it tells, the same after the shape is learned as before."""
    first, second = attempts(line() + line())

    assert (first.upstream, first.end, first.status, first.header, first.header_came) == (
        "10.9.0.1:8080",
        End.ANSWERED,
        200,
        0.1,
        True,
    )
    assert (first.ended, first.started, first.duration, first.own_duration) == (BASE, BASE - 0.3, 0.3, 0.3)
    assert (first.method, first.host, first.uri, first.client) == ("GET", "shop.example.test", "/r/1", "192.0.2.10")
    assert (first.file, first.offset, second.offset) == (3, 0, len(line()))
    assert [getattr(first, name) for name in first.__struct_fields__ if name != "offset"] == [
        getattr(second, name) for name in second.__struct_fields__ if name != "offset"
    ]


def test_a_try_begins_at_one_moment() -> None:
    """Whichever way a line is read, a lone try began when its request did, to the last bit."""
    first, second = attempts(line(request_time="0.301") * 2)

    assert first.started == second.started == BASE - 0.301


@pytest.mark.parametrize("lines", [1, 2])
@pytest.mark.parametrize(
    ("values", "end", "status", "header_came"),
    [
        ({"upstream_status": "502", "upstream_header_time": "-", "status": "502"}, End.REFUSED, None, False),
        ({"upstream_status": "502", "upstream_header_time": "0.1", "status": "502"}, End.ANSWERED, 502, True),
        ({"upstream_status": "504", "upstream_header_time": "-", "status": "504"}, End.TIMED_OUT, None, False),
        ({"upstream_status": "504", "upstream_header_time": "0.1", "status": "504"}, End.ANSWERED, 504, True),
        ({"upstream_status": "-", "upstream_header_time": "-", "status": "499"}, End.ABANDONED, None, False),
        ({"upstream_status": "-", "upstream_header_time": "-", "status": "502"}, End.REFUSED, None, False),
        ({"upstream_status": "-", "upstream_header_time": "-", "status": "504"}, End.TIMED_OUT, None, False),
        ({"upstream_status": "-", "upstream_header_time": "-", "status": "408"}, End.ABANDONED, None, False),
        ({"upstream_status": "-", "upstream_header_time": "-", "status": "200"}, End.ANSWERED, None, False),
        ({"upstream_status": "502", "upstream_header_time": "-", "status": "200"}, End.REFUSED, None, False),
        ({"upstream_status": "200", "upstream_header_time": "0.1", "status": "499"}, End.CUT, 200, True),
        ({"upstream_status": "500", "upstream_header_time": "-", "status": "500"}, End.ANSWERED, None, False),
        ({"upstream_status": "101", "upstream_header_time": "0.1", "status": "101"}, End.ANSWERED, 101, True),
        ({"upstream_status": "000", "upstream_header_time": "-", "status": "499"}, End.ABANDONED, None, False),
    ],
)
def test_end_of_a_lone_try(lines: int, values: dict[str, str], end: End, status: int | None, header_came: bool | None) -> None:
    """The try's own entry judges it; only a dash is judged by what the client got. In the loop for plain lines as with care."""
    for attempt in attempts(line(**values) * lines):
        assert (attempt.end, attempt.status, attempt.header_came) == (end, status, header_came)


@pytest.mark.parametrize("lines", [1, 2])
@pytest.mark.parametrize(
    ("without", "values", "judged"),
    [
        (["upstream_header_time"], {}, (End.ANSWERED, 200, None)),
        (["upstream_header_time"], {"upstream_status": "502"}, (End.ANSWERED, 502, None)),
        (["upstream_header_time"], {"upstream_status": "502", "upstream_connect_time": "-"}, (End.REFUSED, None, False)),
        (["upstream_header_time"], {"upstream_status": "504", "upstream_connect_time": "-"}, (End.TIMED_OUT, None, False)),
        (["upstream_header_time"], {"upstream_status": "-", "status": "499"}, (End.ABANDONED, None, False)),
        (["upstream_header_time"], {"status": "499"}, (End.CUT, 200, None)),
        (["upstream_status"], {"status": "404"}, (End.ANSWERED, 404, True)),
        (["upstream_status"], {"status": "499"}, (End.CUT, None, True)),
        (["upstream_status"], {"status": "502", "upstream_header_time": "-"}, (End.REFUSED, None, False)),
        (["upstream_status", "upstream_header_time"], {"status": "499"}, (End.ABANDONED, None, None)),
        (["upstream_status", "upstream_header_time"], {"status": "502"}, (End.ANSWERED, 502, None)),
        (["status"], {}, (End.ANSWERED, 200, True)),
    ],
)
def test_absent_variables_prove_nothing(
    lines: int, without: list[str], values: dict[str, str], judged: tuple[object, ...]
) -> None:
    """A variable that the format does not have is unknown, not null: a 502 without a header time is a status, not a refusal."""
    for attempt in attempts(line(without, **values) * lines):
        assert (attempt.end, attempt.status, attempt.header_came) == judged


def test_retry_is_two_attempts() -> None:
    """Each element is an attempt of its own; the earlier one ends where the later one begins."""
    values = {"upstream_status": "502, 200", "upstream_header_time": "-, 0.034", "upstream_response_time": "0.001, 0.030"}
    refused, good = attempts(line(**TWO, **values, upstream_connect_time="-, 0.001", request_time="0.031"))

    assert (refused.upstream, refused.end, refused.status, refused.duration) == ("10.9.0.1:8080", End.REFUSED, None, 0.001)
    assert (good.upstream, good.end, good.status, good.header) == ("10.9.0.2:8080", End.ANSWERED, 200, 0.034)
    assert good.ended == BASE
    assert refused.ended == good.started == BASE - 0.030
    assert refused.started == pytest.approx(BASE - 0.031, abs=1e-6)


def test_earlier_dashes_are_refused() -> None:
    """Only the last element may be judged by the client's status: an earlier dash under a 499 is a failed connection."""
    values = {"upstream_status": "-, -", "upstream_header_time": "-, -", "upstream_response_time": "0.001, 5.000"}
    first, last = attempts(line(**TWO, **values, status="499"))

    assert (first.end, last.end) == (End.REFUSED, End.ABANDONED)


def test_groups() -> None:
    """A redirect to another group is a second request: both answers count, and an empty group is none."""
    values = {"upstream_addr": "10.9.0.1:8080 : 10.9.1.1:9000", "upstream_status": "404 : 200"}
    times = {"upstream_header_time": "0.1 : 0.2", "upstream_response_time": "0.1 : 0.2"}

    assert [(one.upstream, one.status) for one in attempts(line(**values, **times))] == [
        ("10.9.0.1:8080", 404),
        ("10.9.1.1:9000", 200),
    ]
    for blank in (" : ", " :"):
        cut = {name: value.partition(" : ")[0] + blank for name, value in (values | times).items()}
        assert only(line(**cut)).status == 404


@pytest.mark.parametrize(("statuses", "status", "end"), [("502, 200", 200, End.ANSWERED), ("502, 502", None, End.REFUSED)])
def test_same_peer_again(statuses: str, status: int | None, end: End) -> None:
    """A kept-alive connection that had gone stale is no failure; if the fresh one fails too, that is one."""
    headers = "-, 0.004" if status else "-, -"
    values = {"upstream_addr": "10.9.0.3:8080, 10.9.0.3:8080", "upstream_status": statuses, "upstream_header_time": headers}
    attempt = only(line(**values, upstream_response_time="0.000, 0.004"))

    assert (attempt.status, attempt.end, attempt.duration) == (status, end, 0.004)


def test_same_peer_in_two_groups() -> None:
    """Over a redirect the same peer was asked for two things: neither answer is a retry of the other."""
    values = {
        "upstream_addr": "10.9.0.3:8080 : 10.9.0.3:8080",
        "upstream_status": "200 : 200",
        "upstream_header_time": "0.1 : 0.2",
    }

    assert len(attempts(line(**values, upstream_response_time="0.1 : 0.2"))) == 2


@pytest.mark.parametrize(("statuses", "kept"), [("502, 504, 502", [None, None]), ("502, 504, 200", [None, None, 200])])
def test_one_bad_outcome_per_upstream(statuses: str, kept: list[int | None]) -> None:
    """However often one line names an upstream, it is blamed once; a success beside the failure stays."""
    headers = ", ".join("0.1" if one == "200" else "-" for one in statuses.split(", "))
    values = {
        "upstream_addr": "10.9.0.1:80, 10.9.0.2:80, 10.9.0.1:80",
        "upstream_status": statuses,
        "upstream_header_time": headers,
    }

    assert [one.status for one in attempts(line(**values, upstream_response_time="0.1, 0.1, 0.1"))] == kept


@pytest.mark.parametrize(
    ("status", "own", "pool_events", "unattributed"), [("502", "502", 1, 0), ("502", "-", 1, 0), ("200", "200", 0, 1)]
)
def test_name_of_a_group(status: str, own: str, pool_events: int, unattributed: int) -> None:
    """A group's name with an error means that no server was left: nobody is blamed. With a success it is just a name."""
    events, tally = read(line(upstream_addr="shop_pool", status=status, upstream_status=own, upstream_header_time="-"))

    assert (events, tally.records, tally.pool_events, tally.unattributed) == ([], 1, pool_events, unattributed)


def test_group_after_a_try() -> None:
    """A try and then no server left: the try counts, and so does the event of the pool."""
    values = {"upstream_addr": "10.9.0.1:80, shop_pool", "upstream_status": "500, 502", "upstream_header_time": "0.1, -"}
    events, tally = read(line(**values, upstream_response_time="0.1, 0.0"))

    assert (len(events), tally.attempts, tally.pool_events, tally.unattributed) == (1, 1, 1, 0)


@pytest.mark.parametrize("absent", ["", "-", None])
def test_no_upstream(absent: str | None) -> None:
    """A cached answer or one of nginx itself is nobody's, whatever the times say."""
    events, tally = read(line(upstream_addr=absent, upstream_status=absent, upstream_header_time="0", status="503"))

    assert (events, tally.records, tally.unattributed) == ([], 1, 1)


@pytest.mark.parametrize(
    ("request_time", "begun"),
    [("0.299", 0.3), ("0.300", 0.3), ("42.300", 42.3), (None, 0.3)],
    ids=["less", "same", "more", "absent"],
)
def test_start_is_the_earliest_possible(request_time: str | None, begun: float) -> None:
    """A slow upload or download may lie before or after the try: it is dated by the earliest start that the line allows."""
    attempt = only(line([] if request_time else ["request_time"], request_time=request_time))

    assert attempt.started == pytest.approx(BASE - begun, abs=1e-6)
    assert attempt.duration == 0.3


def test_request_time_is_no_latency() -> None:
    """A format with nothing but `$request_time` leaves latency unknown."""
    attempt = only(line(["upstream_header_time", "upstream_response_time"], request_time="500.0"))

    assert (attempt.header, attempt.duration, attempt.own_duration) == (None, None, None)
    assert judge(attempt, BadRules()).kind is None


@pytest.mark.parametrize(("length", "size"), [("1048576", 1048576), (1048575, 1048575), ("-", 0), ("many", 0)])
def test_uploads(length: object, size: int) -> None:
    """The size of the request tells an upload; what is no size is none."""
    assert [one.body_bytes for one in attempts(line(request_length=length) * 2)] == [size, size]


@pytest.mark.parametrize(
    ("values", "grpc", "stream", "retry_after"),
    [
        ({"grpc_status": "14"}, 14, False, False),
        ({"grpc_status": "-", "upstream_trailer_grpc_status": "4"}, 4, False, False),
        ({"grpc_status": "odd"}, None, False, False),
        ({"content_type": "text/event-stream; charset=utf-8"}, None, True, False),
        ({"content_type": "text/html"}, None, False, False),
        ({"upstream_http_retry_after": "30"}, None, False, True),
        ({"upstream_http_retry_after": ""}, None, False, False),
    ],
)
def test_headers_of_the_answer(values: dict[str, str], grpc: int | None, stream: bool, retry_after: bool) -> None:
    """What the log tells of the answer belongs to the last try of the line."""
    for attempt in attempts(line(**values) * 2):
        assert (attempt.grpc_status, attempt.stream, attempt.retry_after) == (grpc, stream, retry_after)
    lists: dict[str, str] = {
        "upstream_status": "500, 200",
        "upstream_header_time": "0.1, 0.1",
        "upstream_response_time": "0.1, 0.1",
    }
    first, last = attempts(line(**TWO, **lists, **values))
    assert (first.grpc_status, first.stream, first.retry_after) == (None, False, False)
    assert (last.grpc_status, last.stream, last.retry_after) == (grpc, stream, retry_after)


@pytest.mark.parametrize(
    "name", ["status", "upstream_status", "upstream_header_time", "upstream_response_time", "request_time"]
)
@pytest.mark.parametrize("value", ["many", "-1", "1e300", "nan", True, [1]])
def test_bad_values(name: str, value: object) -> None:
    """A number that can't be read makes the line useless: it is counted, and the next line is read."""
    events, tally = read(line() + line((), **{name: value}) + line())

    assert (len(events), dict(tally.skipped)) == (2, {"bad_value": 1})


def test_lists_of_another_length_tell_nothing() -> None:
    """A list that is not aligned with the addresses can't be told apart."""
    first, last = attempts(line(**TWO, upstream_status="502, 200"))

    assert (first.header_came, first.header, first.duration, first.status) == (None, None, None, 502)
    assert (last.header_came, last.header, last.duration, last.status) == (None, None, None, 200)


def test_refusal_is_told_from_an_answer() -> None:
    """A 502 of nginx's own is a refusal, a 502 of the upstream is a status."""
    refused = only(line(upstream_status="502", upstream_header_time="-", status="502"))
    answered = only(line(upstream_status="502", status="502"))

    assert judge(refused, BadRules()).kind is Kind.REFUSED
    assert judge(answered, BadRules()).kind is Kind.STATUS


def test_many_addresses() -> None:
    """Addresses without end are read right, and what is remembered of them stays bounded."""
    number = KEPT + 1000
    data = b"".join(line(upstream_addr=f"10.9.{one // 250}.{one % 250}:80") for one in range(number))

    assert len({one.upstream for one in attempts(data)}) == number
