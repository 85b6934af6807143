"""The configuration: TOML in, typed and resolved values out, every error named with its key (DESIGN section 9)."""

from tailhealth.config.durations import format_duration, read_duration
from tailhealth.config.errors import ConfigError
from tailhealth.config.loading import Config, load, parse
from tailhealth.config.pools import Handler
from tailhealth.config.schema import STDIN, Fields, Journal, Listener, Log, Notify, PoolTable, Proxy
from tailhealth.config.secrets import Secret

__all__ = [
    "STDIN",
    "Config",
    "ConfigError",
    "Fields",
    "Handler",
    "Journal",
    "Listener",
    "Log",
    "Notify",
    "PoolTable",
    "Proxy",
    "Secret",
    "format_duration",
    "load",
    "parse",
    "read_duration",
]
