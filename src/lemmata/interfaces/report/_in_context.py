"""Draw the pictures of an in-context transformer, using only its record."""

from typing import Any

from ._theme import COLOURS, INK, themed
from ._vega import svg_text

Run = dict[str, Any]


def coefficients_picture(run: Run, kind: str) -> Any:
    """Draw how the largest Lasso coefficients change along the layers, with one line for each coefficient."""
    import altair as alt

    path = run["paths"][kind]
    rows = [
        {"layer": layer, "rho": value, "number": str(number)}
        for layer, values in zip(path["layers"], path["rho"], strict=True)
        for number, value in zip(path["numbers"], values, strict=True)
    ]
    lines = alt.Chart(alt.Data(values=rows), title=f"Coefficients along the layers, {kind}").mark_line(opacity=0.8)
    return lines.encode(
        _layers(path), alt.Y("rho:Q", title="Lasso coefficients that are largest in the last layer"),
        alt.Color("number:N", legend=None, scale=alt.Scale(range=list(COLOURS))),
    ).properties(width=460, height=240)  # fmt: skip


def errors_picture(run: Run) -> Any:
    """Draw the squared error at the queries along the layers, with the errors of the other methods."""
    import altair as alt

    rows = [
        {"layer": layer, "error": error, "model": f"transformer, {kind}"}
        for kind, path in run["paths"].items()
        for layer, error in zip(path["layers"], path["error"], strict=True)
    ]
    others = [row for row in run["rows"] if not row["model"].startswith("transformer")]
    names = [*dict.fromkeys(row["model"] for row in rows), *(row["model"] for row in others)]
    key = alt.Legend(title=None, orient="bottom", columns=1, labelLimit=420)
    colour = alt.Color("model:N", scale=alt.Scale(domain=names, range=list(COLOURS[: len(names)])), legend=key)
    up = alt.Y("error:Q", title="squared error at the queries", scale=alt.Scale(type="log", nice=False, padding=10))
    lines = alt.Chart(alt.Data(values=rows)).mark_line(strokeWidth=2).encode(_layers(run["paths"]["plain"]), up, colour)
    rules = alt.Chart(alt.Data(values=others)).mark_rule(strokeDash=[5, 4], strokeWidth=1.5).encode(up, colour)
    return alt.layer(lines, rules, title="Error along the layers").properties(width=460, height=240)


def attention_picture(run: Run, kind: str) -> Any:
    """Draw, for each layer, the attention scores of Attn1's second head, which are the predictions for the examples."""
    import altair as alt

    path = run["paths"][kind]
    rows = [
        {"layer": str(layer), "example": place, "score": score, "target": target}
        for layer, scores in zip(path["layers"], path["scores"], strict=True)
        for place, (score, target) in enumerate(zip(scores, path["targets"], strict=True))
    ]
    bound = max(abs(row["score"]) for row in rows) or 1.0
    colour = alt.Color("score:Q", title="score", scale=alt.Scale(scheme="blueorange", domain=[-bound, bound]))
    layers = [str(layer) for layer in path["layers"]]
    axis = alt.Axis(labelOverlap="greedy", labelSeparation=14, labelAngle=0)
    cells = alt.Chart(alt.Data(values=rows), title=f"Attention scores of the examples, {kind}").mark_rect()
    return cells.encode(
        alt.X("layer:N", sort=layers, title="layer", axis=axis),
        alt.Y("example:O", title="examples, by target", axis=alt.Axis(labels=False, ticks=False)),
        colour,
    ).properties(width=460, height=260)


def _layers(path: dict[str, Any]) -> Any:
    import altair as alt

    scale = alt.Scale(type="log", domain=[path["layers"][0], path["layers"][-1]], nice=False)
    return alt.X("layer:Q", title="layer", scale=scale, axis=alt.Axis(tickCount=6, grid=False, titleColor=INK))


def pictures_of(run: Run) -> dict[str, str]:
    """SVG pictures of coefficients, errors and attention scores, by file name. Empty if none can be drawn.

    Args:
        run: the record of `lemmata.workflows.studies.run_in_context`.
    """
    charts = {
        "errors": errors_picture(run), "coefficients": coefficients_picture(run, "with momentum"),
        "coefficients_plain": coefficients_picture(run, "plain"), "attention": attention_picture(run, "with momentum"),
    }  # fmt: skip
    drawn = {f"{name}.svg": svg_text(themed(chart)) for name, chart in charts.items()}
    return {name: picture for name, picture in drawn.items() if picture is not None}
