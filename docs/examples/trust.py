"""Can I trust this model? Theory predicts numbers from the training rows, and the held-out rows check them."""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import lemmata

x, y = load_breast_cancer(return_X_y=True)
order = np.random.default_rng(0).permutation(len(y))
train, new = order[:300], order[300:]
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(x[train], y[train])
found = lemmata.study_model(model, x[train], y[train], held=(x[new], y[new]))
print(found.answer)

found.plot().save("trust.svg")
