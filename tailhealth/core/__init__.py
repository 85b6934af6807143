"""The rules: pure functions and values. No clock, no dice, no files, no network (DESIGN section 2)."""
