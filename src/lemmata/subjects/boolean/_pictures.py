"""Pictures of functions on the cube: weights by degree, noise curves, the error of low-degree learning."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

_INK, _BLUE = "#7b828c", "#3b6fb6"


def bars(heights: Float[np.ndarray, " k"], across: str, up: str, marked: int | None = None) -> Any:
    """A bar for 0, 1, ..., one of them marked.

    Args:
        heights: the heights of the bars.
        across: title of the axis of the numbers.
        up: title of the axis of the heights.
        marked: the number of a bar.
    """
    import altair as alt

    rows = [{"k": k, "height": value, "marked": k == marked} for k, value in enumerate(heights.tolist())]
    colour = alt.condition("datum.marked", alt.value("#c2562d"), alt.value(_BLUE))
    chart = alt.Chart(alt.Data(values=rows)).mark_bar()
    x = alt.X("k:O", axis=alt.Axis(title=across, labelAngle=0, grid=False))
    y = alt.Y("height:Q", axis=alt.Axis(title=up, grid=False))
    tips = [alt.Tooltip("k:O", title=across), alt.Tooltip("height:Q", title=up, format=".4g")]
    return chart.encode(x=x, y=y, color=colour, tooltip=tips).properties(width=240, height=200)


def band(
    across: Float[np.ndarray, " k"], values: Float[np.ndarray, " k"], limits: Float[np.ndarray, "k 2"],
    titles: Sequence[str],
) -> Any:  # fmt: skip
    """A line with its band.

    Args:
        across: places on the axis.
        values: at them.
        limits: the limits of the values.
        titles: the titles of both axes.
    """
    import altair as alt

    numbers = zip(across.tolist(), values.tolist(), limits.tolist(), strict=True)
    rows = [{"x": x, "value": value, "low": low, "high": high} for x, value, (low, high) in numbers]
    base = alt.Chart(alt.Data(values=rows)).encode(x=alt.X("x:Q", axis=alt.Axis(title=titles[0], grid=False)))
    y = alt.Y("low:Q", axis=alt.Axis(title=titles[1], grid=False))
    tips = [alt.Tooltip("x:Q", title=titles[0]), alt.Tooltip("value:Q", title=titles[1], format=".4g")]
    area = base.mark_area(opacity=0.2, color=_BLUE).encode(y=y, y2="high:Q")
    line = base.mark_line(color=_BLUE, point={"color": _BLUE}).encode(y="value:Q", tooltip=tips)
    return alt.layer(area, line).properties(width=240, height=200)


def styled(*charts: Any) -> Any:
    """Charts side by side, in ink that is read on light and dark pages."""
    import altair as alt

    ink: dict[str, Any] = {"labelColor": _INK, "titleColor": _INK}
    chart = charts[0] if len(charts) == 1 else alt.hconcat(*charts)
    return chart.configure(background="transparent").configure_axis(**ink).configure_view(stroke=None)
