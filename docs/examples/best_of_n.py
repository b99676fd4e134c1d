"""Select the best of n answers by a reward with a heavy-tailed error: as n grows, only this reward keeps rising."""

import altair as alt
import numpy as np

from lemmata.subjects.preferences import best_of_n

rng = np.random.default_rng(0)
gold = rng.normal(size=5000)  # what judges say of 5000 answers
proxy = gold + rng.standard_t(3, size=5000)  # what the reward model says of them
found = best_of_n(proxy, 128, gold=gold)
print(f"gold is largest at n = {found.peak}, 90 % interval {found.peak_interval[0]} to {found.peak_interval[1]}")
print(f"at n = 128 the reward is {found.reward[127]:.2f} and gold {found.gold[127]:.2f}; falls: {found.falls}")

rows = [{"n": n, "reward": float(found.reward[n - 1]), "of": "reward model"} for n in range(1, 129)]
rows += [{"n": n, "reward": float(found.gold[n - 1]), "of": "gold"} for n in range(1, 129)]
x, y = alt.X("n:Q", title="answers drawn").scale(type="log", nice=False), alt.Y("reward:Q", title="reward of the best")
alt.Chart(alt.Data(values=rows)).mark_line().encode(x=x, y=y, color=alt.Color("of:N", title=None)).save("best_of_n.svg")
