"""Fixtures that several parts share."""
