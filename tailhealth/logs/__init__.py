"""From the bytes of a log to attempts."""
