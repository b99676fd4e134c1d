"""A bound on the held-out error, compared with the truth on random problems: does it hold, and how loose is it?"""

import altair as alt
import jax

from lemmata.engine.claims import examine, find, verify

jax.config.update("jax_enable_x64", True)
(claim,) = find("hoeffding_held_out")
verdict = verify(claim, progress=False)
print(f"{claim.title}: {verdict.status}")

rows, default = [], claim.population.settings().default
for place, key in enumerate(jax.random.split(jax.random.key(1), 60)):
    held = round(20 * 1.1**place)
    problem = claim.population.sample({**default, "m": held}, key)
    found = examine(claim, problem, key)
    rows += [
        {"rows": held, "gap": float(v), "of": n} for n, v in (("bound", found.predicted), ("truth", found.measured))
    ]
broken = sum(truth["gap"] > bound["gap"] for bound, truth in zip(rows[::2], rows[1::2], strict=True))
print(f"broken in {broken} of {len(rows) // 2} problems, of which 5 % may be")

sizes = alt.X("rows:Q", title="held-out rows").scale(type="log", nice=False)
axes = sizes, alt.Y("gap:Q", title="error on them - error")
chart = alt.Chart(alt.Data(values=rows)).mark_point(filled=True).encode(*axes, color=alt.Color("of:N", title=None))
chart.save("theorem.svg")
