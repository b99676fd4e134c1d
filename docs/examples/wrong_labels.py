"""Which labels look wrong? A seventh of the training labels is changed, and most changed labels are found."""

import altair as alt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import lemmata

x, y = load_digits(n_class=5, return_X_y=True)
rng = np.random.default_rng(1)
order = rng.permutation(len(y))[:300]
x, y = x[order] / 16, y[order]
wrong = rng.random(300) < 1 / 7
labels = np.where(wrong, (y + rng.integers(1, 5, 300)) % 5, y)
model = LogisticRegression(C=0.5, max_iter=1000).fit(x, labels)
found = lemmata.study_model(model, x, labels)
print(found.record.findings[0].text.partition(":")[0])
rows = found.rows.filter(part="training").sort("wrong_label", descending=True)
first = rows["row"].to_numpy()[: wrong.sum()]
print(f"{wrong[first].sum()} of the {wrong.sum()} most suspicious rows have a changed label")

named = [
    {"suspicion": float(own), "label": "changed" if wrong[row] else "right"}
    for row, own in rows.select("row", "wrong_label").iter_rows()
]
axis = alt.X("suspicion:Q", title="probability that the label is wrong").bin(maxbins=20)
alt.Chart(alt.Data(values=named)).mark_bar().encode(x=axis, y="count()", color="label:N").save("wrong_labels.svg")
