"""Findings about an nginx: its include files, its blocks and its processes."""

from __future__ import annotations

from collections.abc import Iterator

from tailhealth.service.checks.facts import Facts
from tailhealth.service.checks.finding import Finding


def files(facts: Facts) -> Iterator[Finding]:
    """Find a configuration that nginx does not take, and files that can't be changed."""
    nginx = facts.proxy.nginx
    if nginx is None:
        return
    if not facts.config.proxy.include:
        text = "`include` of [proxy] names no upstream block, so nothing can be changed"
        yield Finding("no_include", "proxy", text, 'write `include = { NAME = "/etc/nginx/tailhealth/NAME.conf" }` there')
    if nginx.refused:
        text = f"nginx does not take its configuration as it stands: {nginx.refused}"
        yield Finding("nginx_test", "proxy", text, "mend it: nothing is changed before nginx's own test is passed")
    elif nginx.main.problem:
        text = f"nginx's configuration could not be read as a whole: {nginx.main.problem}"
        yield Finding("nginx_unread", "proxy", text, "let the user that runs tailhealth read all of its files")
    for path in nginx.unwritable:
        text = "it can't be written by this user, and include files are replaced"
        yield Finding("include_unwritable", path, text, "give it to the user that runs tailhealth, or run tailhealth as root")


def blocks(facts: Facts) -> Iterator[Finding]:
    """Find blocks in which a limit is one for each worker process."""
    nginx = facts.proxy.nginx
    for name, block in nginx.main.blocks.items() if nginx is not None else ():
        if name in facts.config.proxy.include and not block.zone:
            text = "its upstream block has no `zone`: each worker process counts by itself, and a limit holds for each of them"
            yield Finding("no_zone", name, text, f"write `zone {name} 64k;` into the block")


def processes(facts: Facts) -> Iterator[Finding]:
    """Find an nginx that can't be seen, and old workers that pile up."""
    nginx = facts.proxy.nginx
    if nginx is None:
        return
    pid = facts.config.proxy.pid
    if not nginx.running:
        text = f"{pid} names no running nginx, so no reload could be seen to have worked"
        yield Finding("nginx_not_seen", "proxy", text, "start nginx, or set `pid` of [proxy] to its pid file")
    elif nginx.leaving > nginx.workers:
        text = f"{nginx.leaving} old workers still finish requests after reloads, beside {nginx.workers} that take new ones"
        remedy = "set `worker_shutdown_timeout` in nginx.conf, or a longer `min_apply_interval` in [proxy]"
        yield Finding("old_workers", "proxy", text, remedy)
