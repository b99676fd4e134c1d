"""A scikit-learn classifier: a deep kernel machine on inducing points."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from lemmata.core import check_whole
from lemmata.subjects.machines import SparseMachine, train_sparse_machine

from ._kernel_ridge import above_0, at_least_0
from ._leaves import jax_leaves, numpy_leaves
from ._rows import points_of, root_mean_square, training_rows


class DeepKernelMachineClassifier(ClassifierMixin, BaseEstimator):
    """Least-squares classification with a deep kernel machine of ReLU layers, a network of learned Gram matrices.

    The kernel is learned: the Gram matrix of every layer at some inducing points, which stand for all rows, is a
    parameter. A Gram matrix may differ from the matrix of an infinitely wide network. The difference costs `nu` times
    the Gaussian divergence between the two matrices, so it must improve the log likelihood of the labels by more
    (`lemmata.subjects.machines.SparseMachine`; Yang et al., 2023). Inputs are centred and divided by one number. Adam
    trains the factors of the Gram matrices, the inducing points and the noise on all rows. The time of a step and the
    memory are linear in the number of rows.

    Args:
        layers: the number of layers with learned Gram matrices, at least 1.
        nu: the factor of each layer's divergence, which is subtracted from the log likelihood of all rows in nats. 0
            does not restrict the layers. Infinity keeps each layer at the matrix of an infinitely wide network, which
            gives this network's sparse Gaussian process.
        inducing: the largest number of inducing points, which start at rows that are chosen at random.
        steps: the number of steps of Adam.
        learning_rate: the learning rate of Adam.
        noise: the first value of the variance of the labels' noise, for labels of mean square 1.
        random_state: a seed, a RandomState or None, for the choice of inducing rows.

    Attributes:
        classes_: the labels.
        machine_: the trained machine.
        weights_: the weights of the machine's outputs, (inducing, k), with one column for each class, or one column for
            two classes.
        objective_: the objective before each step, in nats for each row.
        shift_, scale_: inputs are (X - shift_) / scale_.

    Example:
        >>> import numpy as np
        >>> from lemmata.estimators import DeepKernelMachineClassifier
        >>> x = np.random.default_rng(0).normal(size=(80, 2))
        >>> y = (x**2).sum(axis=1) > 1.4
        >>> model = DeepKernelMachineClassifier(inducing=20, steps=60, random_state=0).fit(x, y)
        >>> bool(model.score(x, y) > 0.9)
        True
    """

    def __init__(
        self, layers=2, nu=1.0, inducing=64, steps=250, learning_rate=0.02, noise=0.1, random_state=None
    ):  # scikit-learn validates in fit, not here
        self.layers = layers
        self.nu = nu
        self.inducing = inducing
        self.steps = steps
        self.learning_rate = learning_rate
        self.noise = noise
        self.random_state = random_state

    def fit(self, X, y):
        """Train on rows.

        Args:
            X: inputs (n, d).
            y: labels (n,), at least two different ones.

        Raises:
            DataError: for labels of a single class, or inputs that contain strings.
            SettingError: if a setting is out of its range; the message names it.
        """
        rows = training_rows(self, X, y, None)
        self.classes_, index = rows.labelled()
        nu = self._checked()
        self.shift_ = rows.points.mean(axis=0)
        centred = rows.points - self.shift_
        size = float(root_mean_square(centred.ravel(), np.ones(centred.size)))
        self.scale_ = size if size > 0 else 1.0
        classes = np.arange(len(self.classes_)) if len(self.classes_) > 2 else np.array([1])
        targets = (index[:, None] == classes).astype(float)
        # targets have mean 0, and mean square 1 if classes have equal sizes
        level = 1 / len(self.classes_)
        targets = (targets - level) / math.sqrt(level * (1 - level))
        count = min(int(self.inducing), len(targets))
        chosen = check_random_state(self.random_state).permutation(len(targets))[:count]
        with jax.enable_x64(True):
            x, labels = jnp.asarray(self._scaled(rows.points)), jnp.asarray(targets)
            start = SparseMachine(
                x[chosen], jnp.zeros((int(self.layers), count, count)), jnp.log(jnp.asarray(float(self.noise)))
            )
            rate = float(self.learning_rate)
            trained, values = train_sparse_machine(start, x, labels, nu=nu, steps=int(self.steps), learning_rate=rate)
            self.weights_ = np.asarray(trained.weights(x, labels))
            self.machine_, self.objective_ = numpy_leaves(trained), np.asarray(values)
        return self

    def _checked(self) -> float:
        for name, least in (("layers", 1), ("inducing", 1), ("steps", 0)):
            check_whole(name, getattr(self, name), least, name)
        for name in ("learning_rate", "noise"):
            above_0(name, getattr(self, name))
        nu: Any = self.nu
        if isinstance(nu, float) and nu == math.inf:
            return nu
        return at_least_0("nu", nu, "a number of at least 0, or math.inf")

    def _scaled(self, points: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        return (points - self.shift_) / self.scale_

    def decision_function(self, X):
        """The outputs (m, k) for k > 2 classes; for two classes, the one output (m,), positive for the second class."""
        check_is_fitted(self)
        scaled = self._scaled(points_of(self, X))
        with jax.enable_x64(True):
            machine = jax_leaves(self.machine_)
            outputs = np.asarray(machine.predict(jnp.asarray(scaled), jnp.asarray(self.weights_)))
        return outputs[:, 0] if len(self.classes_) == 2 else outputs

    def predict(self, X):
        """Labels (m,) of the largest outputs."""
        found = self.decision_function(X)
        return self.classes_[(found > 0).astype(int) if found.ndim == 1 else np.argmax(found, axis=1)]
