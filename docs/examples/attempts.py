"""The share of problems that up to 100 attempts solve, estimated from ten attempts on each problem."""

import altair as alt

from lemmata.subjects.scaling import pass_at_k

right = [0, 3, 10, 1, 0, 7, 2, 0, 10, 4, 1, 0, 6, 10, 2]  # right answers among 10 attempts on each of 15 problems
found = {k: pass_at_k(right, 10, k) for k in (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100)}
for k in (1, 10, 100):
    print(f"{k} attempts: {found[k]}")

rows = [
    {"k": k, "share": own.value, "low": own.interval[0], "high": own.interval[1], "seen": k <= 10}
    for k, own in found.items()
]
x = alt.X("k:Q", title="attempts").scale(type="log")
base = alt.Chart(alt.Data(values=rows)).encode(x=x)
band = base.mark_area(opacity=0.3).encode(y=alt.Y("low:Q", title="share of problems solved"), y2="high:Q")
dots = base.mark_point(filled=True).encode(y="share:Q", color=alt.Color("seen:N", title="within the attempts made"))
(band + base.mark_line().encode(y="share:Q") + dots).save("attempts.svg")
