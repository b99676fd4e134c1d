"""Records as a study would write them, made from simple laws, for tests and for looking at the page."""

import dataclasses
import math

from lemmata.workflows.records.studies import (
    Answers,
    Column,
    Data,
    Expected,
    Finding,
    Interval,
    ModelResult,
    More,
    Point,
    Residual,
    SignalResult,
    Spectral,
    StudyRecord,
    TheoryPoint,
    Unit,
)  # fmt: skip

ACCURACY = Unit("accuracy", "share of rows whose class is predicted", True, True, 0.5)
RMSE = Unit("rmse", "root mean square error, in units of the target", False, False, 30.0)
LAWS = (
    ("linear", "linear model", "<x, y>/d", True, 0.5, 0.2),
    ("rbf", "RBF kernel", "exp(-|x - y|²)", True, 1.9, 0.5),
    ("forest", "random forest", "trees", False, 1.0, 0.3),
)
CLAIMS = [
    {
        "name": "generalisation.stability.uniform_stability",
        "title": "Uniform stability of kernel ridge regression",
        "statement": "With probability 1 - delta the gap is\nat most\n\n"
        "    2 beta + sqrt(log(1/delta) / (2 n))\n\nfor n rows.",
        "source": "Bousquet and Elisseeff (2002), Theorem 12",
        "controls": "the gap between held-out and training error",
        "unexplained": "why it is far smaller at a small ridge",
        "architecture": "rbf",
        "relation": "measured <= predicted with probability >= 0.95",
        "status": "applies",
        "hypotheses": [
            {"name": "rows independent", "value": None, "threshold": None, "relation": "", "holds": None,
             "why": "no table says how it was drawn"},
        ],
        "prediction": 12.345,
        "measurement": 0.0456,
        "ratio": 270.7,
        "trivial": 1.0,
        "vacuous": True,
        "agrees": True,
        "culprit": None,
    },
    {
        "name": "optimisation.gradient_descent.iterations",
        "title": "Iterations grow as the condition number",
        "statement": "Gradient descent needs at most kappa log(1/eps) steps.",
        "source": "Theorem 2",
        "architecture": "linear",
        "relation": "measured <= predicted",
        "status": "inapplicable",
        "hypotheses": [
            {"name": "smallest eigenvalue positive", "value": 1.2e-17, "threshold": 4.5e-11,
             "relation": ">", "holds": False,
             "why": "12 duplicate rows"},
        ],
        "prediction": None,
        "measurement": None,
        "ratio": None,
        "trivial": None,
        "vacuous": None,
        "agrees": None,
        "culprit": "12 duplicate rows make the smallest eigenvalue zero",
    },
]  # fmt: skip
TRAINING = [
    {
        "name": "relu",
        "title": "ReLU network, depth 1",
        "sentence": "The gap to the kernel shrinks.",
        "widths": [
            {
                "width": width,
                "gap": 2 / math.sqrt(width),
                "kernel_movement": 1.6 / math.sqrt(width),
                "points": [
                    {"time": t, "kernel_train": 1 / (1 + t), "kernel_test": 0.1 + 1 / (1 + t),
                     "network_train": 1.1 / (1 + t), "network_test": 0.1 + 1.1 / (1 + t)}
                    for t in (0.1, 1.0, 10.0)
                ],
            }
            for width in (64, 1024)
        ],
    }
]  # fmt: skip


def _told(unit, loss):
    return 1.0 - loss if unit.rises else 50.0 * loss


def _between(unit, loss, share=0.1):
    ends = _told(unit, loss * (1 - share)), _told(unit, loss * (1 + share))
    return Interval(_told(unit, loss), min(ends), max(ends))


def _model(unit, total, name, title, formula, kernel, scale, exponent, learns=True):
    loss = lambda n: scale * n**-exponent
    needed = (scale / 0.1) ** (1 / exponent)
    beyond = needed > 1000 * total
    return ModelResult(
        name=name,
        title=title,
        formula=formula,
        kernel=kernel,
        learns=learns,
        points=[Point(float(n), _told(unit, 1.03 * loss(n)), 0.01, 8) for n in (20, 80, total - 1)],
        band=[
            Expected(n, *(getattr(_between(unit, loss(n)), part) for part in ("value", "lower", "upper")))
            for n in (20.0, 80.0, float(total), 8.0 * total)
        ],
        now=_between(unit, loss(total)),
        needed=Interval(math.inf if beyond else needed, 0.8 * needed, math.inf),
        limit=_between(unit, 0.01),
        ridge=0.0123456 if kernel else None,
        theory=[TheoryPoint(n, loss(n), 0.8 * loss(n), 1.2 * loss(n), 1.1 * loss(n)) for n in (20.0, 80.0)] * kernel,
        spectrum=Spectral([1, 10, 100], [90.0, 3.0, 0.01], [0.2, 0.7, 1.0], 12.345, math.inf) if kernel else None,
    )


def classified(**changes):
    """A classification with everything: asked accuracy, cost, claims, networks, findings."""
    unit, total = ACCURACY, 400
    values = {
        "schema": 3,
        "lemmata": "0.1.0",
        "created": "2026-01-02T03:04:05+00:00",
        "command": "lemmata study flowers.csv --error 'accuracy 0.9'",
        "seed": 0,
        "seconds": 21.2,
        "peak_gib": 0.9,
        "data": Data(
            "flowers.csv", 410, total, "classification", "kind", ["rose", "tulip"],
            [Column("height", "number", 3, 40, [1, 5, 9, 2], "0.1 to 9.5"),
             Column("colour", "category", 0, 3, [200, 150, 60], "red, blue, white")],
            ["ten rows without a target left out"], 0.5, 0.5,
        ),
        "unit": unit,
        "signal": SignalResult(True, 0.005, 400),
        "answers": Answers(
            ["The columns predict the target (permutation test, p = 0.005).",
             "Reaching accuracy 90.0 % takes about 360 rows (290 to no upper limit) with RBF kernel; there are 400.",
             "400 more rows are expected to change accuracy 90.5 % into 93.3 %."],
            "rbf", 0.9, "asked with --error", Interval(361.0, 288.8, math.inf), _between(unit, 0.095),
            [More(100, _between(unit, 0.085), 200.0), More(400, _between(unit, 0.067), 12345.0)],
        ),
        "models": [_model(unit, total, *law) for law in LAWS],
        "residuals": [Residual(7, "rose", "tulip", 1.0),
                      Residual(9, "rose", "tulip", 1.0), Residual(3, "tulip", "tulip", 0.0)],
        "claims": CLAIMS,
        "training": TRAINING,
        "bibliography": [{"key": "bousquet2002",
                          "text": "Olivier Bousquet and André Elisseeff. Stability and generalization."}],
        "findings": [Finding("time limit", (), "The time limit was reached before these models: softmax network."),
                     Finding("identifier", ("id",), "column id looks like an identifier")],
    }  # fmt: skip
    return StudyRecord(**{**values, **changes})


def measured(**changes):
    """A regression without claims, where the asked value is out of every model's reach."""
    unit, total = RMSE, 120
    out = Interval(math.inf, 5000.0, math.inf)
    sentences = [
        "The columns predict the target (permutation test, p = 0.005).",
        "Reaching rmse 2.00 is not expected of any model here.",
    ]
    values = {
        "unit": unit,
        "data": Data("prices.csv", total, total, "regression", "price", None, [], [], 100.0, 30.0),
        "answers": Answers(sentences, "rbf", 2.0, "asked with --error", out, _between(unit, 0.17), []),
        "models": [dataclasses.replace(_model(unit, total, *law), needed=out) for law in LAWS],
        "residuals": [Residual(4, 90.0, 130.0, 3.0), Residual(2, 100.5, 98.25, 0.1)],
        "claims": [],
        "training": [],
        "bibliography": [],
        "findings": [],
    }
    return classified(**{**values, **changes})


def noise():
    """A table in which nothing predicts the target."""
    record = measured()
    sentences = [
        "Nothing here predicts the target: on 120 rows, others do as well in 43% of all cases.",
        "Guessing has rmse 30.0.",
    ]
    return measured(
        signal=SignalResult(False, 0.43, 120),
        answers=Answers(sentences, None, math.nan, "", None, None, []),
        models=[_model(RMSE, 120, *law, learns=False) for law in LAWS],
        residuals=[],
        data=record.data,
    )


def empty():
    """What is left where a study was interrupted at once."""
    return measured(
        answers=Answers([], None, math.nan, "", None, None, []), models=[], residuals=[], interrupted=True,
        signal=SignalResult(False, 1.0, 0),
    )  # fmt: skip
