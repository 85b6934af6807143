"""The configuration that `init` writes: commented, valid as it stands, and with every default to be seen. Pure."""

from __future__ import annotations

_HEAD = """\
# tailhealth, next to {proxy}.
#
# `tailhealth check -c FILE` says what is missing in the proxy or wrong here. `tailhealth run -c FILE --dry-run` decides
# without changing anything. A line with a `#` right before its key shows the default: take the `#` away to change it.
# Durations are strings with a unit ("250ms", "1m30s"), `false` turns a rule off, and `note = "..."` in any table keeps why a
# value is what it is.

# "enforce" applies decisions, "observe" only records them.
#mode = "enforce"
# How long to wait for lines that come out of order.
#lateness = "1s"
# When tailhealth stops: "restore" puts all upstreams back, "leave" leaves them out until their time is over.
#on_stop = "restore"

"""

_CADDY = """\
[proxy]
kind = "caddy"
# The address of Caddy's admin interface, or its socket: "unix//run/caddy/admin.sock".
admin = "http://127.0.0.1:2019"
# A look at the requests in flight; each one makes Caddy write a line into its own log.
#poll = "5s"
# A change reloads Caddy's configuration, so there is at most one in this time.
#min_apply_interval = "2s"

[[log]]
# Caddy creates its logs with mode 0600: see `mode` in the Caddyfile.
path = "/var/log/caddy/traffic.log"

"""

_NGINX = """\
[proxy]
kind = "nginx"
# For each upstream block the file that holds its `server` lines, and nothing else. tailhealth rewrites it.
include = {{ chat = "/etc/nginx/tailhealth/chat.conf" }}
#test = ["nginx", "-t"]
#reload = ["nginx", "-s", "reload"]
#pid = "/run/nginx.pid"
# A reload keeps old workers alive until their requests are done, so there is at most one in this time.
#min_apply_interval = "10s"

[[log]]
path = "/var/log/nginx/tailhealth.log"

"""

_PLUS = """\
[proxy]
kind = "nginx-plus"
# Where the API is served, without its /api.
admin = "http://127.0.0.1:8080"
# Headers that it wants; a value may be read from the environment or from a file.
#headers = {{ }}
#poll = "5s"
#min_apply_interval = "2s"

[[log]]
path = "/var/log/nginx/tailhealth.log"

"""

_RULES = """\
# What counts as bad. `tailhealth calibrate LOG` shows what is normal here, and proposes limits.
[bad]
#status = ["5xx", "!501", "!505"]
# The response header took at least this long: well above the longest healthy answer, and below what clients wait.
#slower_than = "120s"
#refused = true
#timed_out = true
#truncated = true
# Statuses that say "busy", which is neither good nor bad.
#busy = ["429", "503+retry-after"]

# Some requests have another measure; the first route that matches holds.
#
#    [[bad.route]]
#    path = "/api/version"
#    slower_than = "3s"
#
#    [[bad.route]]
#    path = "/healthz"
#    ignore = true

# How much bad is too much: at least `ratio` of the newest outcomes, and worse than the other upstreams of the pool.
[window]
#last = 8
#span = "30s"
#within = "10m"
#min_requests = 4
#ratio = 0.6
#consecutive_refused = 2
#consecutive_unanswered = 8

# How long an upstream stays out: `for`, then `backoff` times as long each time, at most `max`.
[eject]
#for = "30s"
#backoff = 2.0
#max = "10m"

# After that, few requests at a time until it has proved itself.
[probation]
#requests = 3
#bad = 1
#max_in_flight = 1

[guard]
# Upstreams or globs that are never ejected, such as those with reserved capacity.
#protected = []
# Never more than this share of a pool, and never the last ones.
#max_ejected = 0.5
#min_serving = 1
# Nobody is ejected while the whole pool is as bad.
#common_cause = true

# Other rules for one pool, named by its upstreams, host, path or id ({id}):
#
#    [pool.chat]
#    id = "chat"
#    guard.protected = ["10.0.0.1:11434"]

[state]
# Default: $STATE_DIRECTORY, as systemd gives it, else a folder in the home directory.
#    dir = "/var/lib/tailhealth"

[listen]
# /metrics, /status and /healthz, for this machine alone.
#    http = "127.0.0.1:9311"
"""

_PROXIES = {
    "caddy": ("Caddy", _CADDY, "Caddy's `@id` of the handler"),
    "nginx": ("nginx", _NGINX, "the name of the upstream block"),
    "nginx-plus": ("NGINX Plus", _PLUS, "the name of the upstream block"),
}


def starter(kind: str) -> str:
    """Return the text of a configuration file for a proxy: `caddy`, `nginx` or `nginx-plus`."""
    proxy, table, named = _PROXIES[kind]
    return (_HEAD + table + _RULES).format(proxy=proxy, id=named)
