"""A scikit-learn classifier: an infinitely wide network whose training stops early, at a separate time for each row."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from lemmata.architectures import TangentKernel
from lemmata.errors import SettingError
from lemmata.kernels import gram
from lemmata.subjects.adversaries import learn_row_times

from ._kernel_ridge import at_least_0, chosen_network
from ._leaves import jax_leaves
from ._rows import float64_leaves, points_of, training_rows

ROWS = ("own", "common")


class AdversarialKernelClassifier(ClassifierMixin, BaseEstimator):
    """Least-squares classification with a tangent kernel, stopped early to withstand adversaries who move inputs.

    An infinitely wide network is trained on centred indicators of the classes by the flow of its tangent kernel. Each
    training row has its own stopping time, after which the row no longer drives the flow. The times are learned on
    validation rows, which are set aside and attacked at each step of the search
    (`lemmata.subjects.adversaries.learn_row_times`, Adv-NTK). `rows="common"` uses one time for all rows, which is
    usual early stopping.

    Args:
        network: a layer of `lemmata.architectures`; None means three hidden ReLU layers with biases of standard
            deviation 0.1.
        radius: the largest distance by which the adversary may move an input.
        norm: "linf" limits the move of each input coordinate, "l2" the length of the whole move.
        rows: "own" learns a time for each row, "common" uses one time for all rows.
        validation_fraction: the share of rows set aside, between 0 and 1.
        steps: the number of steps of the search for stopping times.
        learning_rate: the root mean square change of the logarithms of times in one step.
        attack_steps: the number of steps of each attack.
        random_state: the seed for the choice of validation rows.

    Attributes:
        classes_: the labels.
        times_: the stopping times of the training rows that were not set aside.
        common_time_: the best stopping time if it is the same for all rows.
        validation_losses_: the losses of the attacked validation rows in each step of the search. The first is the loss
            with the common time.

    Example:
        >>> import numpy as np
        >>> from lemmata.architectures import relu_network
        >>> from lemmata.estimators import AdversarialKernelClassifier
        >>> x = np.random.default_rng(0).normal(size=(40, 2))
        >>> model = AdversarialKernelClassifier(relu_network(1), radius=0.1, steps=5).fit(x, x[:, 0] > 0)
        >>> bool(model.score(x, x[:, 0] > 0) > 0.8)
        True
    """

    def __init__(
        self,
        network=None,
        radius=0.1,
        norm="linf",
        rows="own",
        validation_fraction=0.25,
        steps=50,
        learning_rate=0.1,
        attack_steps=10,
        random_state=0,
    ):
        self.network = network
        self.radius = radius
        self.norm = norm
        self.rows = rows
        self.validation_fraction = validation_fraction
        self.steps = steps
        self.learning_rate = learning_rate
        self.attack_steps = attack_steps
        self.random_state = random_state

    def fit(self, X, y):
        """Set rows aside, and learn the stopping times of the other rows on them.

        Args:
            X: inputs (n, d).
            y: labels (n,), at least two different ones.

        Raises:
            DataError: for labels of a single class, or inputs that are not finite numbers.
            SettingError: for a setting with a value that the class does not allow.
        """
        found = training_rows(self, X, y, None)
        self.classes_, index = found.labelled()
        radius = at_least_0("radius", self.radius)
        if self.rows not in ROWS:
            raise SettingError("rows", found=repr(self.rows), rule="'own' or 'common'")
        held, kept = self._split(len(index))
        targets = np.eye(len(self.classes_))[index] - 1 / len(self.classes_)
        self._points = found.points[kept]
        with jax.enable_x64(True):
            self.kernel_ = float64_leaves(TangentKernel(chosen_network(self.network)))
            learned = learn_row_times(
                jax_leaves(self.kernel_),
                jnp.asarray(found.points[kept]),
                jnp.asarray(targets[kept]),
                jnp.asarray(found.points[held]),
                jnp.asarray(targets[held]),
                radius,
                steps=self.steps if self.rows == "own" else 0,
                learning_rate=self.learning_rate,
                attack_steps=self.attack_steps,
                norm=self.norm,
            )
        self.times_, self.common_time_ = np.asarray(learned.times), float(learned.common_time)
        self.validation_losses_ = np.asarray(learned.losses)
        self._coefficients = np.asarray(learned.coefficients)
        return self

    def _split(self, rows: int) -> tuple[np.ndarray, np.ndarray]:
        """The rows that are set aside and the other rows, at least one of each."""
        share: Any = self.validation_fraction
        if not (isinstance(share, int | float) and 0 < share < 1 and math.isfinite(share)):
            raise SettingError("validation_fraction", found=repr(share), rule="a number above 0 and below 1")
        held = min(max(1, round(share * rows)), rows - 1)
        order = check_random_state(self.random_state).permutation(rows)
        return np.sort(order[:held]), np.sort(order[held:])

    def decision_function(self, X):
        """The outputs (m, k) for k > 2 classes.

        For two classes, the result is the difference (m,) of the two outputs. A positive difference means the second
        class.
        """
        outputs = self._outputs(X)
        return outputs[:, 1] - outputs[:, 0] if len(self.classes_) == 2 else outputs

    def predict(self, X):
        """Labels (m,) of the largest outputs."""
        best = np.argmax(self._outputs(X), axis=1)
        return self.classes_[best]

    def _outputs(self, X) -> np.ndarray:
        check_is_fitted(self)
        points = points_of(self, X)
        with jax.enable_x64(True):
            cross = gram(jax_leaves(self.kernel_), jnp.asarray(points), jnp.asarray(self._points))
            return np.asarray(cross @ jnp.asarray(self._coefficients))
