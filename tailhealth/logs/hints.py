"""What is wrong with the setup, each problem once, in one sentence with its remedy."""

from __future__ import annotations

SNIPPET = (
    "log_append upstream {rp.upstream.hostport}",
    "log_append upstream_latency_ms {rp.upstream.latency_ms}",
    "log_append retries {rp.retries}",
)
"""What Caddy (2.8 or newer) needs in its site block so that access lines tell of their upstream."""

HINTS = {
    "no_upstream_field": (
        "the access lines name no upstream, so nothing can be judged: add to the site in the Caddyfile (Caddy 2.8 or newer): "
        + "; ".join(f"`{line}`" for line in SNIPPET)
    ),
    "no_header_time": (
        "the log has no time to the response header: latency is not judged, and a 502 does not tell a refused connection from"
        f" an answer; add `{SNIPPET[1]}`"
    ),
    "literal_placeholder": (
        "a placeholder was logged as it stands, Caddy replaces only a value that is exactly one placeholder: use"
        f" `{SNIPPET[0]}`"
    ),
    "host_without_port": (
        f"the upstream field holds a host without its port, which may stand for several upstreams: use `{SNIPPET[0]}`"
    ),
    "hashed_upstream": (
        "the upstream field holds a hash and no address: take the `hash` filter off this field in the log's format"
    ),
    "not_an_address": f"the upstream field holds something that is no address: use `{SNIPPET[0]}`",
    "duplicate_keys": (
        "a key of Caddy's own stands twice in a line; the first is taken: give the appended field a name of its own"
    ),
    "level_filter": (
        "every record has a status of 500 or more: a log kept at level ERROR shows no successes, so it has no honest ratio;"
        " set `level INFO` for the access log"
    ),
    "sampling": (
        "in most busy seconds exactly as many records stand as in the busiest one: the log looks thinned by `sampling`, which"
        " leaves no honest ratio; switch it off for the access log"
    ),
    "unit_assumed": (
        "durations are whole numbers without a unit, read as {unit}; if that is wrong, name it:"
        ' `fields = {{ request_time = {{ key = "duration", unit = "ms" }} }}`'
    ),
    "unit_unknown": (
        "durations are whole numbers that may be ms or ns, and are left out: name the unit:"
        ' `fields = {{ request_time = {{ key = "duration", unit = "ms" }} }}`'
    ),
    "no_time": "the lines have no time, so there is nothing to replay: set a `time_key` in the log's format",
    "arrival_time": "the lines have no time: the time of their arrival is used; set a `time_key` in the log's format",
    "no_year": (
        "times have no year and nothing tells which one is meant, so their lines are left out: set a `time_format` with a year,"
        " such as rfc3339"
    ),
    "retries": (
        "{count} requests were retried and the log names only their last upstream: round-trip lines (level DEBUG for the logger"
        " http.handlers.reverse_proxy) name each one"
    ),
    "console_format": "the log has Caddy's console format, which is slow to read: set `format json`",
    "no_records": (
        "no access record among {lines} lines: is this the access log, and in JSON? (`[[log]] format` and `fields` help where"
        " it has an unusual form)"
    ),
    "lost_messages": "journal entries came without their text because they are long: export with `journalctl --all -o json`",
    "escape": (
        "this nginx does not know `escape=json` and prints it before each line; odd characters come as \\xHH: update to nginx"
        " 1.11.8 or newer"
    ),
}


def hint(code: str, **figures: object) -> str:
    """Return the sentence of a hint with its figures filled in."""
    text = HINTS[code]
    return text.format(**figures) if "{{" in text or figures else text
