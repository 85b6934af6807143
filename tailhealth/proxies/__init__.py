"""The proxies: how each tells its pools and takes changes."""
