"""Labels for chosen rows of three bundled tables: accuracy under coding rates beside rows as they come.

Rows are called by kernel ridge regression on those that have labels, and each round labels some more. The area under
the curve of accuracy, its mean over rounds, is compared on the same split. This theory controls nothing here: what
rows tell about a random function of the kernel, and what a model gains by their labels, are two things, and tables
decide how far they agree.
"""

import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import Claim, Control, Order, Source, Status
from lemmata.engine.problems._row_pools import RowPool, RowPools
from lemmata.subjects.selection import Rule

_KEY = "luo2023kecor"
_WEIGHT = 0.3


def areas(problem: RowPool, rival: Rule) -> Array:
    """Areas under the curves of rows by a rival rule, and of rows by coding rates with the entropy on the diagonal."""
    chosen = problem.chosen("coding rate", entropy_weight=_WEIGHT)
    return jnp.asarray([problem.curve(problem.chosen(rival)).mean(), problem.curve(chosen).mean()])


class FewerLabelsAsPrinted(Claim[RowPool]):
    """As printed: rows chosen by coding rates, with the entropy of classes on the diagonal at a weight of 0.3, reach an
    accuracy with fewer labels than the best rule before; read on handwritten digits, ten labels to start with and four
    rounds of ten: the mean area under the curve of accuracy is above that of rows farthest from labelled ones.

    It is below: the farthest rows are of all ten classes soon, and a regression on ten labels is mistaken about what it
    is unsure of.
    """

    title = "Fewer labels by coding rates, on digits"
    source = Source(_KEY, "Abstract, fewer annotations", note="as printed, at the size of bundled tables")
    population = RowPools("digits")
    relation = Order("chosen", (0.0, 1.0))
    control = Control("the rival's area is above", lambda sign, problem: -sign, loose="a sign has no neighbour")
    controls = "the accuracy per label"
    unexplained = "object detectors, where a label is a box and rows have many"
    reading = "the state of the art as the k-centre rule, data as any bundled table"
    expected = Status.REFUTED
    traced = False
    trials = 80

    def predict(self, problem: RowPool) -> Array:
        return jnp.asarray(1.0)

    def measure(self, problem: RowPool, key: Key[Array, ""]) -> Array:
        """Areas of both choices on one split."""
        return areas(problem, "k-centre")


class FewerLabelsOnTumours(Claim[RowPool]):
    """On the breast cancer table, ten labels to start with and four rounds of ten, rows chosen by coding rates with the
    entropy of classes on the diagonal at a weight of 0.3 have a larger mean area under the curve of accuracy than rows
    at random.
    """

    title = "Fewer labels by coding rates, on tumours"
    source = Source(_KEY, "Abstract, fewer annotations", note="for one table of two classes")
    population = RowPools("cancer")
    relation = Order("chosen", (0.0, 1.0))
    control = Control("the area of random rows is above", lambda sign, problem: -sign)
    controls = "the accuracy per label"
    unexplained = "for which tables it holds"
    traced = False
    trials = 60
    corrects = FewerLabelsAsPrinted

    def predict(self, problem: RowPool) -> Array:
        return jnp.asarray(1.0)

    def measure(self, problem: RowPool, key: Key[Array, ""]) -> Array:
        """Areas of both choices on one split."""
        return areas(problem, "random")
