"""The parts of a row of `top`."""

from __future__ import annotations

import pytest

from tailhealth.views.rows import rate, sparkline


def test_sparklines_are_logarithmic() -> None:
    """From 10 ms to the top that all rows share; nothing known is blank; the newest value stands last."""
    assert sparkline([None, 0.001, 0.01, 1.0], 4) == " ▁▁█"
    assert sparkline([0.01, 1.0, 100.0], 3, 100.0, plain=True) == "_+#"
    assert sparkline([1.0], 3) == "  █"
    assert sparkline([0.5, 0.1, 1.0], 2)[-1] == "█"
    assert sparkline([5.0], 1, 1.0) == "█"


@pytest.mark.parametrize(
    ("per_second", "shown"),
    [
        (0, "0.00"),
        (0.03, "0.03"),
        (0.994, "0.99"),
        (0.996, "1.0"),
        (12.34, "12.3"),
        (99.94, "99.9"),
        (99.96, "100"),
        (1e9, "99999"),
    ],
)
def test_rates_fit_five_characters(per_second: float, shown: str) -> None:
    """A rate has the decimal places that fit."""
    assert rate(per_second) == shown
