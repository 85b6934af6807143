"""Passive health for the upstreams behind Caddy or nginx, judged from the access log."""

__version__ = "0.1.0"
