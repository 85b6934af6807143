"""What `check` looks for: facts are gathered once, and each finding is a pure function of them (DESIGN section 9)."""
