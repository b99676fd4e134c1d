"""Models with given losses, and questions about them, for tests of answers."""

import numpy as np

from lemmata.subjects.forecasts import forecast
from lemmata.workflows.studies._losses import Losses
from lemmata.workflows.studies._measure import Measured
from lemmata.workflows.studies._metrics import asked, metric
from lemmata.workflows.studies._models import Model
from lemmata.workflows.studies._outlook import Candidate
from lemmata.workflows.studies._question import Question
from lemmata.workflows.studies._signal import Signal

SEEN, UNSEEN = Signal(True, 0.005, 0.3, 1.0, 100), Signal(False, 0.42, 0.98, 1.0, 51)
SIZES = np.array([8.0, 16.0, 32.0, 64.0, 128.0, 256.0])


def candidate(name, loss, unit="rmse", se=0.01, learns=True, total=320):
    values = np.array([loss(n) for n in SIZES])
    kind = "classification" if unit in ("accuracy", "auc", "log-loss", "wrong") else "regression"
    names = (unit, "unexplained", "r2") if kind == "regression" else (unit,)
    losses = {name: Losses(SIZES, values, se * values, (8,) * len(SIZES)) for name in names}
    model = Model(name, f"the {name} model", "", True, lambda x, y, task, groups: None)  # pyright: ignore[reportArgumentType]
    measured = Measured(model, losses, learns)
    return Candidate(measured, forecast(SIZES, values, se * values, baseline=1.0), metric(unit, kind), total)


def question(text=None, task="regression", total=320, spread=4.0, cost=None):
    unit, loss = (metric("rmse", task), None) if text is None else asked(text, task, spread)
    return Question(unit, loss, total, spread, 1.0, cost, ahead=16)


FAST, SLOW = lambda n: 2.0 * n**-0.5, lambda n: 1.2 * n**-0.2
