"""Small trained networks with deployment rows, whose distribution may differ, to test claims on distribution shift."""

import dataclasses

import jax
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.facts import FACTS
from lemmata.subjects.trained_models import Trained, read_model, read_task
from lemmata.subjects.trained_models._shift import copied, reference_rows
from lemmata.subjects.trained_models._trained_networks import CLASSES, draw_rows, train

_HELD = 200
LARGE = 5000
"""The error in deployment is measured on this number of additional deployment rows."""


@dataclasses.dataclass(frozen=True, eq=False)
class Deployed(Trained):
    """A trained model with deployment rows. Only the test of a claim uses their classes; no check does.

    Args:
        answers: the classes of the deployment rows, as one-hot rows.
        wrong: the share of 5000 other deployment rows for which the model predicts a wrong class.
    """

    answers: Float[np.ndarray, "used C"] | None = None
    wrong: float = float("nan")


class DeployedRows(Population[Trained]):
    """Three normal classes in d dimensions, a network trained on them, and deployment rows.

    The deployment rows are moved by `moved` along a random direction and keep their classes. Then a share `relabelled`
    of the rows gets the next class. This change does not affect the inputs.

    Args:
        moved: the default distance by which the deployment rows are moved. With 0, the inputs have the distribution of
            the held-out rows.
        relabelled: the default share of deployment rows whose class is replaced by the next class.
        rows: the default number of training rows.
        features: the default number d of features of a row.
        used: the default number of deployment rows. If a test of a claim draws other settings, they have at least this
            number.
        hidden: the number of hidden units.
        decay: the weight decay delta in mean loss + (delta/2) |theta|².
    """

    # The condition that no shift is seen fails in one of twenty problems without a shift, the level of the test.
    drops = 0.15

    moved: float = 0.0
    relabelled: float = 0.0
    rows: int = 60
    features: int = 4
    used: int = 200
    hidden: int = 6
    decay: float = 0.02

    def settings(self) -> Space:
        return Space(
            n=Integer(self.rows, 20, 2000, "training rows"),
            used=Integer(self.used, 20, 2000, "deployment rows", corners=(self.used, 2 * self.used)),
            d=Integer(self.features, 1, 50, "features"),
            hidden=Integer(
                self.hidden, 0, 100, "hidden units; 0 means a linear model", corners=(self.hidden, self.hidden)
            ),
            moved=Real(
                self.moved, 0.0, 5.0, "distance by which deployment rows are moved", corners=(self.moved, self.moved)
            ),
            relabelled=Real(
                self.relabelled,
                0.0,
                1.0,
                "share of relabelled deployment rows",
                corners=(self.relabelled, self.relabelled),
            ),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Deployed:
        """Draw centres and rows, train a network on the training rows, and draw deployment rows."""
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        d = setting["d"]
        centres = 1.5 * rng.normal(size=(CLASSES, d)) / np.sqrt(d) * np.sqrt(2)
        x, y = draw_rows(rng, setting["n"], centres, 0.1)
        held = draw_rows(rng, _HELD, centres, 0.1)
        way = rng.normal(size=d)
        way *= setting["moved"] / np.linalg.norm(way)
        used, answers = draw_rows(rng, setting["used"] + LARGE, centres + way, 0.1)
        hit = rng.random(len(answers)) < setting["relabelled"]
        answers = np.where(hit, (answers + 1) % CLASSES, answers)
        found = train(x, y, int(rng.integers(2**31)), decay=self.decay, hidden=setting["hidden"])
        model = read_model(found)
        task = read_task(model, x, y)
        encoded, m = task.encode(answers), setting["used"]
        wrong = float(task.errors(model.outputs(used[m:]), encoded[m:]).mean())
        return Deployed(model, task, x, task.encode(y), (held[0], task.encode(held[1])), self.decay,
                        deployed=used[:m], answers=encoded[:m], wrong=wrong)  # fmt: skip

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        if problem.deployed is None:
            return [Hypothesis(FACTS["deployed"].given, 0.0, ">=", 1.0, "--deploy, or deployed=")]
        share = copied(reference_rows(problem)[1], problem.deployed)
        return [
            Hypothesis(FACTS["deployed"].given, 1.0, ">=", 1.0, "--deploy, or deployed="),
            Hypothesis("share of deployment rows that duplicate a held-out or training row", share, "<=", 0.05,
                       "duplicates are not independent of these rows"),
        ]  # fmt: skip
