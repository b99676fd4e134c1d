"""A scikit-learn classifier: a convolutional deep kernel machine."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from lemmata.core import check_whole
from lemmata.errors import SettingError
from lemmata.subjects.machines import initial_machine, train_machine

from ._bases import AbstractClassifier
from ._leaves import jax_leaves, numpy_leaves
from ._rows import points_of, root_mean_square, training_rows


class ConvolutionalDeepKernelMachineClassifier(AbstractClassifier):
    """Classification of images by a convolutional network of infinitely many channels that learns representations.

    The network is represented by Gram matrices of inducing points, a few points that stand for all patches of images
    (Milsom et al., 2024). Each block of ReLU and 3 x 3 convolution has a learned Gram matrix. The objective has two
    terms. The first is a bound on the log density of centred indicators of the classes under normal noise. The second,
    which is subtracted, is `stiffness` times the divergence of each Gram matrix from the matrix that the previous block
    gives in a random network. Adam maximises the objective for all rows at once. Adam learns the Gram matrices, the
    inducing patches, the weights between inducing points, the noise and the scale. At an infinite stiffness the Gram
    matrices are those of random networks. After the last block, images are averaged over all sites. The predicted class
    of an image is the class with the largest posterior mean. The estimator is meant for hundreds of small images. The
    time of a step is proportional to the number of images, to the number of sites, and to the square of the number of
    inducing points.

    Args:
        shape: the shape of an image, (h, w) or (h, w, c), where a row of X has the entries of the image in this order.
            None means a square image of one channel if d is a square, and otherwise a strip (1, d).
        inducing: the numbers of inducing patches of images, then of inducing points of each block.
        strides: for each block, the distance along both axes between neighbouring sites that the block keeps.
        stiffness: the factor of the divergences (nu in the source), at least 0; with math.inf, the Gram matrices are
            not learned.
        steps: the number of steps of Adam.
        learning_rate: the learning rate of Adam.
        random_state: a seed, a RandomState or None, for the choice of the first patches.

    Attributes:
        classes_: the labels.
        machine_: the trained machine.
        objective_: the objective before each step.
        scale_: the divisor of the images.

    Example:
        >>> import numpy as np
        >>> from lemmata.estimators import ConvolutionalDeepKernelMachineClassifier
        >>> x = np.random.default_rng(0).normal(size=(40, 4, 4))
        >>> across = np.arange(40) % 2 == 0
        >>> x = np.where(across[:, None, None], x.cumsum(1), x.cumsum(2)).reshape(40, 16)
        >>> model = ConvolutionalDeepKernelMachineClassifier(inducing=(8, 8), steps=20, random_state=0).fit(x, across)
        >>> bool(model.score(x, across) > 0.8)
        True
    """

    def __init__(
        self,
        shape=None,
        inducing=(32, 64),
        strides=(2,),
        stiffness=1.0,
        steps=80,
        learning_rate=0.03,
        random_state=None,
    ):
        self.shape = shape
        self.inducing = inducing
        self.strides = strides
        self.stiffness = stiffness
        self.steps = steps
        self.learning_rate = learning_rate
        self.random_state = random_state

    def fit(self, X, y):
        """Train on rows.

        Args:
            X: images (n, d), flat.
            y: labels (n,), at least two different ones.

        Raises:
            DataError: for labels of a single class, or inputs that contain strings.
            SettingError: if a setting is out of its range; the message names it.
        """
        rows = training_rows(self, X, y, None)
        self.classes_, index = rows.labelled()
        stiffness, rate, inducing, strides = self._checked()
        size = float(root_mean_square(rows.points.ravel(), np.ones(rows.points.size)))
        self.scale_ = size if size > 0 else 1.0
        self._grid = self._sides(rows.points.shape[1])
        targets = np.eye(len(self.classes_))[index] - 1 / len(self.classes_)
        key = jax.random.key(int(check_random_state(self.random_state).randint(2**31 - 1)))
        with jax.enable_x64(True):
            images, labels = jnp.asarray(self._images(rows.points)), jnp.asarray(targets)
            machine = initial_machine(key, images, inducing, strides)
            machine, values = train_machine(machine, images, labels, stiffness=stiffness, steps=self.steps, rate=rate)
            self._weights = np.asarray(machine.posterior(images, labels).weights)
            self.machine_, self.objective_ = numpy_leaves(machine), np.asarray(values)
        return self

    def _checked(self) -> tuple[float, float, tuple[int, ...], tuple[int, ...]]:
        whole: dict[str, tuple[int, ...]] = {}
        for name in ("inducing", "strides"):
            values: Any = getattr(self, name)
            if not isinstance(values, tuple | list) or not all(
                isinstance(value, int | np.integer) and value > 0 for value in values
            ):
                raise SettingError(name, found=repr(values), rule="whole numbers that are at least 1")
            whole[name] = tuple(int(value) for value in values)
        check_whole("steps", self.steps, 0, "steps")
        numbers = {"stiffness": self.stiffness, "learning_rate": self.learning_rate}
        for name, value in numbers.items():
            if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not value >= 0:
                raise SettingError(name, found=repr(value), rule="a number that is not negative")
        if not 0 < numbers["learning_rate"] < math.inf:
            raise SettingError("learning_rate", found=repr(self.learning_rate), rule="a finite number above 0")
        return float(self.stiffness), float(self.learning_rate), whole["inducing"], whole["strides"]

    def _sides(self, columns: int) -> tuple[int, int, int]:
        if self.shape is None:
            side = math.isqrt(columns)
            return (side, side, 1) if side**2 == columns else (1, columns, 1)
        given: Any = self.shape
        sides = tuple(given) if isinstance(given, tuple | list) or np.ndim(given) == 1 else ()
        whole = all(isinstance(side, int | np.integer) and side > 0 for side in sides)
        if len(sides) not in (2, 3) or not whole or math.prod(sides) != columns:
            rule = f"whole numbers (h, w) or (h, w, c) of at least 1, whose product is the number of columns, {columns}"
            raise SettingError("shape", found=repr(given), rule=rule)
        height, width, channels = (*sides, 1)[:3]
        return int(height), int(width), int(channels)

    def _images(self, points: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n h w c"]:
        return (points / self.scale_).reshape(len(points), *self._grid)

    def decision_function(self, X):
        """The posterior means (m, k) for k > 2 classes.

        For two classes, the result is the difference (m,) of the two means. A positive difference means the second
        class.
        """
        check_is_fitted(self)
        images = self._images(points_of(self, X))
        with jax.enable_x64(True):
            machine = jax_leaves(self.machine_)
            found = np.asarray(machine.outputs(jnp.asarray(images), jnp.asarray(self._weights)))
        return found[:, 1] - found[:, 0] if len(self.classes_) == 2 else found

    def predict(self, X):
        """Labels (m,) of the largest posterior means."""
        found = self.decision_function(X)
        return self.classes_[(found > 0).astype(int) if found.ndim == 1 else np.argmax(found, axis=1)]
