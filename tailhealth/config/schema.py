"""The schema of the configuration file: every table with its keys and their defaults (DESIGN section 9)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tailhealth.config.kinds import (
    Admin,
    Command,
    FilePath,
    Header,
    Hosts,
    Listen,
    Paths,
    Seconds,
    SomeSeconds,
    Upstreams,
    Webhook,
    Zone,
)
from tailhealth.config.rules import Bad, Clash, Eject, Guard, Probation, Table, Window

STDIN = "-"
"""As the path of a log: standard input."""

_HEADER_NAME = re.compile(r"[0-9A-Za-z!#$%&'*+.^_`|~-]+")
_ORIGIN_CHECKS = re.compile(r"origin|sec-fetch-.*", re.IGNORECASE)
_ONLY_NGINX = ("include", "test", "reload", "pid")
_ONLY_API = ("admin", "headers", "ca", "cert", "key")
_ONLY_PLUS = ("drain",)


class Proxy(Table, frozen=True, kw_only=True):
    """`[proxy]`: which proxy this is, and how to talk to it."""

    kind: Literal["caddy", "nginx", "nginx-plus"] = "caddy"
    """The proxy: `"caddy"`, `"nginx"` (open source) or `"nginx-plus"`. Default: "caddy"."""
    admin: Admin = "http://127.0.0.1:2019"
    """Address of Caddy's admin interface or of the NGINX Plus API: `"http://host:port"` or `"unix//path"`.
    Default: "http://127.0.0.1:2019"; NGINX Plus has none."""
    headers: dict[str, Header] = msgspec.field(default_factory=dict)
    """Headers of each admin request. A value may be `"env:NAME"` or `"file:PATH"`, and is never shown. Default: none."""
    ca: FilePath | None = None
    """Path of the certificates that the admin interface's own is checked against. Default: those of the system."""
    cert: FilePath | None = None
    """Path of our client certificate. Default: none."""
    key: FilePath | None = None
    """Path of the client certificate's key. Default: in the file of `cert`."""
    timeout: SomeSeconds = 10.0
    """Duration: how long one admin request, or one `test` or `reload` command, may take. Default: "10s"."""
    poll: SomeSeconds = 5.0
    """Duration between two looks at the requests in flight. Default: "5s"."""
    drift_poll: SomeSeconds = 60.0
    """Duration between two looks for changes that others made to the proxy's configuration. Default: "60s"."""
    coalesce: Seconds = 0.25
    """Duration: changes that fall within it go in one apply. Default: "250ms". `0`: each at once."""
    min_apply_interval: Seconds | UnsetType = UNSET
    """Least duration between two applies; each one reloads the proxy's configuration. Left out, it is 30 s behind a Caddy whose
    reloads would close websockets that were seen. Default: "2s", for nginx "10s"."""
    include: dict[str, FilePath] = msgspec.field(default_factory=dict)
    """nginx: for each upstream block the include file that holds its `server` lines: `{chat = "/etc/nginx/chat.conf"}`.
    Default: none, and nothing is changed."""
    test: Command = ("nginx", "-t")
    """nginx: the command that tests the configuration. Default: `["nginx", "-t"]`."""
    reload: Command = ("nginx", "-s", "reload")
    """nginx: the command that reloads it. Default: `["nginx", "-s", "reload"]`."""
    pid: FilePath = "/run/nginx.pid"
    """nginx: path of the file with the master's process id. Default: "/run/nginx.pid"."""
    drain: bool = False
    """nginx-plus: what takes a server out. `false`: `down`, it gets nothing new; `true`: `drain`, it still gets the requests of
    the clients that are bound to it (`sticky`), and no others. Default: false."""

    @property
    def apply_interval(self) -> float:
        """The effective `min_apply_interval` in seconds: an nginx reload keeps old workers alive, so it is rarer there."""
        if self.min_apply_interval is UNSET:
            return 10.0 if self.kind == "nginx" else 2.0
        return self.min_apply_interval

    def clashes(self, given: Collection[str]) -> Iterable[Clash]:
        """Each kind has its own keys; TLS needs an https address."""
        foreign = _ONLY_API if self.kind == "nginx" else _ONLY_NGINX
        for name in foreign if self.kind == "nginx-plus" else (*foreign, *_ONLY_PLUS):
            if name in given:
                yield Clash(f'has no meaning for kind "{self.kind}"', (name,), ("kind",))
        if self.kind == "nginx-plus" and "admin" not in given:
            text = 'is needed for kind "nginx-plus": the address of its API, such as "http://127.0.0.1:8080"'
            yield Clash(text, ("admin",), ("kind",))
        if self.kind != "nginx" and not self.admin.startswith("https:"):
            for name in sorted({"ca", "cert", "key"} & set(given)):
                yield Clash("needs an admin address that begins with https://", (name,), ("admin",))
        if self.key is not None and self.cert is None:
            yield Clash("needs proxy.cert, the certificate that it belongs to", ("key",), ("cert",))
        yield from self._header_clashes()

    def _header_clashes(self) -> Iterable[Clash]:
        for name in self.headers:
            if not _HEADER_NAME.fullmatch(name):
                yield Clash("is no name of a header", ("headers", name))
            elif _ORIGIN_CHECKS.fullmatch(name):
                yield Clash("must not be sent: it switches the proxy's origin checks on", ("headers", name))


class Field(Table, frozen=True, kw_only=True):
    """Where a log keeps one value. A string is short for `{ key = "..." }`."""

    SHORT_FOR: ClassVar[str] = "key"

    key: Annotated[str, Meta(min_length=1)]
    """The key in the log's JSON; `a.b` is `b` inside `a`."""


class TimedField(Field, frozen=True, kw_only=True):
    """Where a log keeps a time or a duration."""

    unit: Literal["s", "ms", "us", "ns"] | None = None
    """Unit of a number. Default: told from the proxy's defaults, and `check` says which one is assumed."""


class Fields(Table, frozen=True, kw_only=True):
    """`fields` of a `[[log]]`: keys that differ from the proxy's own. Default of each: found by its name."""

    time: TimedField | None = None
    """When the request ended."""
    upstream: Field | None = None
    """The upstream's address."""
    upstream_status: Field | None = None
    """The upstream's own status."""
    header_time: TimedField | None = None
    """How long the upstream took to its response header."""
    response_time: TimedField | None = None
    """How long the upstream took to the end of its answer."""
    request_time: TimedField | None = None
    """How long the whole request took."""
    status: Field | None = None
    """What the client got."""
    method: Field | None = None
    """The request's method."""
    path: Field | None = None
    """The request's URI."""
    host: Field | None = None
    """The request's host."""
    client: Field | None = None
    """The client's address; it tells clients apart and is never written anywhere."""
    grpc_status: Field | None = None
    """The gRPC status."""
    retries: Field | None = None
    """How many more tries the proxy made."""
    body_bytes: Field | None = None
    """Size of the request's body in bytes."""


class Log(Table, frozen=True, kw_only=True):
    """`[[log]]`: one access log."""

    path: FilePath
    """Path or glob of the log; `"-"` is standard input. Needed."""
    format: Literal["auto", "caddy", "nginx"] = "auto"
    """Who wrote it: `"auto"` (told from its first lines), `"caddy"` or `"nginx"`. Default: "auto"."""
    zone: Zone = "UTC"
    """Time zone of times that name none, such as "Europe/Paris". Default: "UTC"."""
    fields: Fields = Fields()
    """Keys that differ from the proxy's own: `{ header_time = { key = "a.b", unit = "ms" } }`. Default: none."""


class State(Table, frozen=True, kw_only=True):
    """`[state]`: where the running controller keeps what it must not forget."""

    dir: FilePath | None = None
    """Directory of the state file, the journal and the control socket.
    Default: `$STATE_DIRECTORY`, else "~/.local/state/tailhealth"."""


class Journal(Table, frozen=True, kw_only=True):
    """`[journal]`: the record of decisions and changes, in the state directory."""

    max_bytes: Annotated[int, Meta(ge=4096)] = 16 * 1024 * 1024
    """Size in bytes at which a new file begins, at least 4096. Default: 16777216 (16 MiB)."""
    keep: Annotated[int, Meta(ge=0)] = 4
    """Number of older files that are kept. Default: 4. `0`: none."""


class Listener(Table, frozen=True, kw_only=True):
    """`[listen]`: what the running controller serves, read-only."""

    http: Listen | None = None
    """Loopback address with port for `/metrics`, `/status` and `/healthz`, such as "127.0.0.1:9311". Default: off."""


class Notify(Table, frozen=True, kw_only=True):
    """`[[notify]]`: who is told of each decision. One of `url` and `command`."""

    url: Webhook | None = None
    """Address that gets each event as JSON by POST. It may be `"env:NAME"` or `"file:PATH"`, and is never shown."""
    command: Command | None = None
    """Command, as a list of arguments, that gets each event as JSON on its standard input."""

    def clashes(self, given: Collection[str]) -> Iterable[Clash]:
        """Exactly one receiver per entry."""
        if len({"url", "command"} & set(given)) != 1:
            yield Clash("needs url or command, and not both; write one [[notify]] for each")


class PoolTable(Table, frozen=True, kw_only=True):
    """`[pool.NAME]`: names a pool of the proxy and overrides rules for it, key by key. All match keys given must match."""

    upstreams: Upstreams = ()
    """The pool with exactly these upstreams, its backups listed or not; listed ones may be ejected. Default: any."""
    host: Hosts = ()
    """Hosts or globs: only what is served, and counted, for these hosts. Default: every host."""
    path: Paths = ()
    """URL paths or globs: only what is served, and counted, on these paths. Default: every path."""
    id: Annotated[str, Meta(min_length=1)] | None = None
    """The `@id` of the handler in Caddy, or the name of the upstream block in nginx. Default: any."""
    mode: Literal["enforce", "observe"] = "enforce"
    """As at the top, for this pool. Default: that of the top."""
    bad: Bad = Bad()
    """As `[bad]`, for this pool. Default of each key: that of `[bad]`."""
    window: Window = Window()
    """As `[window]`, for this pool. Default of each key: that of `[window]`."""
    eject: Eject = Eject()
    """As `[eject]`, for this pool. Default of each key: that of `[eject]`."""
    probation: Probation | None = Probation()
    """As `[probation]`, for this pool. Default of each key: that of `[probation]`. Off: `false`."""
    guard: Guard = Guard()
    """As `[guard]`, for this pool. Default of each key: that of `[guard]`."""

    def clashes(self, given: Collection[str]) -> Iterable[Clash]:
        """A table that matches nothing is a mistake."""
        if not {"upstreams", "host", "path", "id"} & set(given):
            yield Clash("needs upstreams, host, path or id, to say which pool it means")


class Document(Table, frozen=True, kw_only=True):
    """The whole file. A pool has its own values from `[pool.NAME]`, else those of the tables at the top."""

    mode: Literal["enforce", "observe"] = "enforce"
    """`"enforce"` applies decisions, `"observe"` only records them. Default: "enforce"."""
    lateness: Seconds = 1.0
    """Duration: how long to wait for lines that come out of order. Default: "1s". `0`: judge at once."""
    on_stop: Literal["restore", "leave"] = "restore"
    """When the controller stops: `"restore"` puts all upstreams back, `"leave"` leaves them out. Default: "restore"."""
    proxy: Proxy = Proxy()
    """`[proxy]`."""
    log: tuple[Log, ...] = ()
    """`[[log]]`. Default: none."""
    bad: Bad = Bad()
    """`[bad]`."""
    window: Window = Window()
    """`[window]`."""
    eject: Eject = Eject()
    """`[eject]`."""
    probation: Probation | None = Probation()
    """`[probation]`. Off: `false`."""
    guard: Guard = Guard()
    """`[guard]`."""
    state: State = State()
    """`[state]`."""
    journal: Journal = Journal()
    """`[journal]`."""
    listen: Listener = Listener()
    """`[listen]`."""
    notify: tuple[Notify, ...] = ()
    """`[[notify]]`. Default: none."""
    pool: dict[str, PoolTable] = msgspec.field(default_factory=dict)
    """`[pool.NAME]`. Default: none; pools are then found in the proxy and named after their upstreams."""

    def clashes(self, given: Collection[str]) -> Iterable[Clash]:  # noqa: ARG002 - the values tell
        """A log is read once; two tables must not mean the same pool."""
        for path, times in Counter(one.path for one in self.log).items():
            if times > 1:
                last = max(index for index, one in enumerate(self.log) if one.path == path)
                yield Clash("is the path of another [[log]] too", ("log", last, "path"))
        seen: dict[object, str] = {}
        for name, table in self.pool.items():
            key = (frozenset(table.upstreams), frozenset(table.host), frozenset(table.path), table.id)
            if any(key) and key in seen:
                yield Clash(f"matches the same pool as pool.{seen[key]}", ("pool", name))
            seen.setdefault(key, name)
