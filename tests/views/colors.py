"""How readable a page's colours are, by the contrast that WCAG asks for."""

from __future__ import annotations

from typing import Any

PLOT = "document.querySelector('.js-plotly-plot')"


def contrast(first: str, second: str) -> float:
    """Return the contrast of two colours `rgb(r, g, b)` by the web's accessibility guidelines, 1 to 21."""

    def luminance(color: str) -> float:
        parts = [int(one) / 255 for one in color[color.index("(") + 1 : -1].split(",")[:3]]
        red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


COLORS = f"""(() => {{
  const style = (query) => getComputedStyle(document.querySelector(query));
  const solid = (name) => {{
    const one = document.createElement('i');
    one.style.color = name;
    document.body.append(one);
    const found = getComputedStyle(one).color;
    one.remove();
    return found;
  }};
  const points = {PLOT}._fullData.filter((one) => one.meta.shown).map((one) => solid(one.marker.color));
  return {{page: style('html').backgroundColor, text: style('body').color, soft: style('header p').color, points,
    card: style('.card').backgroundColor, plot: solid({PLOT}._fullLayout.paper_bgcolor), axis: style('.xtick text').fill}};
}})()"""


def readable(colors: dict[str, Any]) -> None:
    """Check that text and points stand out from what they stand on."""
    assert contrast(colors["text"], colors["page"]) >= 7
    assert contrast(colors["soft"], colors["page"]) >= 4.5
    assert contrast(colors["text"], colors["card"]) >= 7
    assert contrast(colors["axis"], colors["plot"]) >= 7
    assert min(contrast(one, colors["plot"]) for one in colors["points"]) >= 3
