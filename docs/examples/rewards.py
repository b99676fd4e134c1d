"""Rewards from comparisons of pairs, each with its interval, and a test whether rewards explain the comparisons."""

import altair as alt
import numpy as np

from lemmata.subjects.preferences import fit_rewards

rng, strength = np.random.default_rng(2), {"a": 1.0, "b": 0.5, "c": 0.0, "d": -0.2, "e": -1.3}
games = []
for one in strength:
    for other in strength:
        if one < other:
            wins = rng.binomial(40, 1 / (1 + np.exp(strength[other] - strength[one])))
            games += [(one, other)] * wins + [(other, one)] * (40 - wins)
found = fit_rewards(games)  # pairs (winner, loser)
for item, reward, (low, high) in zip(found.items, found.reward, found.interval, strict=True):
    print(f"{item}: {reward:.2f}, 95 % interval {low:.2f} to {high:.2f}; true {strength[item]:.1f}")
print(f"p = {found.p_value:.2f} if rewards explain the comparisons")

rows = [
    {"item": item, "reward": float(reward), "low": float(low), "high": float(high), "true": strength[item]}
    for item, reward, (low, high) in zip(found.items, found.reward, found.interval, strict=True)
]
base = alt.Chart(alt.Data(values=rows)).encode(y=alt.Y("item:N", title=None))
bars = base.mark_rule().encode(x=alt.X("low:Q", title="reward; a tick is the truth"), x2="high:Q")
truth = base.mark_tick(color="black").encode(x="true:Q")
(bars + base.mark_point(filled=True).encode(x="reward:Q") + truth).save("rewards.svg")
