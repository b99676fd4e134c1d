"""How far fine-tuning of a small language model is that of its kernel, by the loss at which it stops."""

import altair as alt
import jax
import numpy as np

from lemmata.subjects.dynamics import fine_tune, kernel_behaviour
from lemmata.subjects.dynamics._few_shot_tasks import UNRELATED, FewShotTasks, descent

TASKS, STEPS = 8, 600
LOSSES = (0.5, 0.4, 0.3, 0.2)
WAYS = {"prompt, words of the task": "#4c78c8", "prompt, unrelated words": "#b8962e", "fresh head": "#c2508c"}
MEASURES = {"linearisation": "error of the linearisation", "change": "relative change of the kernel"}


def rows() -> list[dict]:
    """Both measures for each of some tasks, each way of posing it, and each loss."""
    population, found = FewShotTasks(), []
    for number in range(TASKS):
        task = population.sample(population.settings().default, jax.random.key(number))
        for name, way in zip(WAYS, (task.prompt(), task.prompt(UNRELATED), task.fresh_head()), strict=True):
            path, optimiser = [way.params], descent(way.rate)
            for loss in LOSSES:
                path += fine_tune(way.f, path[-1], way.texts, way.y, optimiser, steps=[STEPS], until=loss)[1:]
            seen = kernel_behaviour(way.f, path, way.texts)
            for at, loss in enumerate(LOSSES):
                for measure in MEASURES:
                    value = getattr(seen, measure)[at]
                    found.append({"way": name, "loss": loss, "measure": measure, "value": value, "task": number})
    return found


def picture() -> alt.Chart:
    """A panel a measure: the median over tasks, and half of the tasks in the band."""
    table = rows()
    panels = []
    for measure, title in MEASURES.items():
        summary = []
        for name in WAYS:
            for loss in LOSSES:
                values = [r["value"] for r in table if (r["way"], r["loss"], r["measure"]) == (name, loss, measure)]
                low, middle, high = np.percentile(values, [25, 50, 75])
                summary.append({"way": name, "loss": loss, "low": low, "middle": middle, "high": high})
        base = alt.Chart(alt.Data(values=summary)).encode(
            alt.X("loss:Q", title="mean training loss at which training stops",
                  scale=alt.Scale(reverse=True, domain=[0.18, 0.52]), axis=alt.Axis(grid=False, values=list(LOSSES))),
            alt.Color("way:N", sort=list(WAYS), title=None, legend=alt.Legend(orient="top", labelLimit=300),
                      scale=alt.Scale(domain=list(WAYS), range=list(WAYS.values()))),
        )  # fmt: skip
        up = alt.Y("low:Q", title=title, scale=alt.Scale(domainMin=0), axis=alt.Axis(tickCount=5, grid=False))
        band = base.mark_area(opacity=0.18).encode(up, alt.Y2("high:Q"))
        line = base.mark_line(point=True, strokeWidth=2).encode(alt.Y("middle:Q"))
        panels.append((band + line).properties(width=300, height=260))
    return alt.hconcat(*panels)
