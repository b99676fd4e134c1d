"""Modular addition in the lazy regime: how a network whose kernel does not change predicts new pairs.

This theory computes the predictions of kernel regression on concatenated one-hot codes of (a, b). It assumes that the
kernel depends only on the inner product of two codes, as for every dense network of infinite width. It does not explain
networks whose features change in training, or codes that share one embedding for unordered pairs.
"""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from lemmata.architectures import NNGPKernel, TangentKernel, relu_network
from lemmata.engine.claims import (
    Choice,
    Claim,
    Control,
    Equal,
    EqualInMean,
    Hypothesis,
    Integer,
    Kind,
    Population,
    Real,
    Source,
    Space,
)
from lemmata.kernels import RBF, gram

ABOUT = {"tool": "linear algebra", "architecture": "kernel method", "object": "generalisation"}

_TABLES = 64  # of independent labels
KERNELS = {
    "tangent": lambda: TangentKernel(relu_network(2)),
    "deep tangent": lambda: TangentKernel(relu_network(4)),
    "covariance": lambda: NNGPKernel(relu_network(2)),
    "gaussian": lambda: RBF(1.5),
}


def codes(p: int) -> Float[np.ndarray, "pairs width"]:
    """Return the one-hot code of a, followed by the one-hot code of b, in row p a + b."""
    a, b = np.divmod(np.arange(p**2), p)
    return np.hstack([np.eye(p)[a], np.eye(p)[b]])


@functools.cache
def levels_of(kernel: str, p: int) -> tuple[float, float, float]:
    """Return three values of the kernel: for two codes that share 0, 1 and 2 ones."""
    x, function = jnp.asarray(codes(p)), KERNELS[kernel]()
    none, one, both = (float(function(x[0], x[place])) for place in (p + 1, 1, 0))
    return none, one, both


@functools.lru_cache(maxsize=4)
def gram_of(kernel: str, p: int) -> Float[np.ndarray, "pairs pairs"]:
    """Return the kernel matrix of the codes of all p² pairs (a, b)."""
    return np.asarray(gram(KERNELS[kernel](), jnp.asarray(codes(p))))


class SeenPairs(eqx.Module):
    """A table of the pairs (a, b) of residues modulo p, of which n are training pairs.

    Args:
        order: the indices p a + b of all pairs, with the seen pairs first.
        values: a real label of every pair.
        kernel: the name of the kernel, one of KERNELS.
        p: the modulus of the residues a and b.
        n: how many pairs are seen.
    """

    order: Int[Array, " pairs"]
    values: Float[Array, " pairs"]
    kernel: str = eqx.field(static=True)
    p: int = eqx.field(static=True)
    n: int = eqx.field(static=True)

    @property
    def levels(self) -> tuple[float, float, float]:
        """The levels k_0, k_1 and k_2 of the kernel, for two codes that share 0, 1 or 2 ones."""
        return levels_of(self.kernel, self.p)

    @property
    def ridge(self) -> float:
        """The ridge k_2 - 2 k_1 + k_0 of the regression to which the kernel's predictions are equal."""
        k0, k1, k2 = self.levels
        return k2 - 2 * k1 + k0

    @property
    def condition(self) -> float:
        """Return an upper bound on the condition number of the Gram matrix."""
        k0, k1, _ = self.levels
        return 1 + (self.n * k0 + 2 * self.p * (k1 - k0)) / self.ridge


class TablesOfPairs(Population[SeenPairs]):
    """A random part of the table is seen; the labels are independent and normal.

    Args:
        share: the default share of seen pairs; None means that one pair is left out.
        least: the smallest modulus.
    """

    share: float | None = 0.6
    least: int = 5

    def settings(self) -> Space:
        variables = {
            "kernel": Choice("tangent", tuple(KERNELS), "the kernel"),
            "p": Integer(11, self.least, 23, "the modulus"),
        }
        if self.share is None:
            return Space(**variables)
        return Space(**variables, share=Real(self.share, 0.3, 0.95, "share of seen pairs", corners=(0.4, 0.9)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> SeenPairs:
        p = setting["p"]
        order_key, value_key = jax.random.split(key)
        n = p**2 - 1 if self.share is None else round(setting["share"] * p**2)
        order = jax.random.permutation(order_key, p**2)
        return SeenPairs(order, jax.random.normal(value_key, (p**2,)), setting["kernel"], p, n)

    def hypotheses(self, problem: SeenPairs) -> list[Hypothesis]:
        why = "otherwise the Gram matrix of all pairs may be singular"
        return [Hypothesis("k_2 - 2 k_1 + k_0", jnp.asarray(problem.ridge), ">", 0.0, why)]


def predictions(
    problem: SeenPairs, labels: Float[np.ndarray, "pairs *outputs"]
) -> Float[np.ndarray, "unseen *outputs"]:
    """Train kernel regression without a ridge on the n seen pairs; return its predictions for the other pairs."""
    order, matrix = np.asarray(problem.order), gram_of(problem.kernel, problem.p)
    seen, unseen = order[: problem.n], order[problem.n :]
    flat = labels[seen].reshape(len(seen), -1)
    found = matrix[np.ix_(unseen, seen)] @ np.linalg.solve(matrix[np.ix_(seen, seen)], flat)
    return found.reshape(len(unseen), *labels.shape[1:])


def sums(problem: SeenPairs) -> Int[np.ndarray, " pairs"]:
    """Return a + b modulo p for each pair, in the order of the indices p a + b."""
    a, b = np.divmod(np.arange(problem.p**2), problem.p)
    return (a + b) % problem.p


class AbstractLazyPrediction(Claim[SeenPairs]):
    """A statement about the predictions of kernel regression for pairs that are not training pairs."""

    population = TablesOfPairs()
    controls = "the predictions of a lazy network for pairs that are not training pairs"
    unexplained = "networks whose features change in training"
    traced = False

    def condition(self, problem: SeenPairs) -> Array:
        return jnp.asarray(problem.condition)


class LazyIsAdditive(AbstractLazyPrediction):
    """Let the input be the one-hot codes of a and b, one after the other, with a, b in {0, ..., p-1}. Let the kernel of
    two inputs be k_0 if they share neither a nor b, k_1 if they share one of the two, and k_2 if they share both. Let
    k_2 - 2 k_1 + k_0 > 0. The tangent kernel and the covariance of every dense network of infinite width have this
    form. Then kernel regression without a ridge predicts a sum u(a) + v(b) for every pair that is not a training pair,
    whatever the labels are. This prediction equals the prediction of ridge regression on the features

        sqrt(k_0),   sqrt(k_1 - k_0) e_a,   sqrt(k_1 - k_0) e_b,   with the ridge k_2 - 2 k_1 + k_0,

    where e_a is the one-hot code of a.

    Derivation: let [a = a'] be 1 if a = a', and 0 otherwise. The kernel of two inputs is k_0 + (k_1 - k_0)([a = a'] +
    [b = b']) + c [a = a'][b = b'] with c = k_2 - 2 k_1 + k_0. On training pairs, the term with the factor c gives the
    matrix c I, which is a ridge. Between a training pair and another pair, this term is 0.
    """

    title = "On new pairs (a, b), a lazy (tangent kernel) network predicts a function of a plus a function of b"
    source = Source("emergence2026", "Figure 19.16", note="the lazy fit, computed exactly")
    stated = Kind.OWN
    relation = Equal(block=-1)
    control = Control("the ridge is k_2 - k_1", lambda sums, problem: _additive_ridge(problem, 1.0))

    def predict(self, problem: SeenPairs) -> Array:
        return _additive_ridge(problem, 2.0)

    def measure(self, problem: SeenPairs, key: Key[Array, ""]) -> Array:
        return jnp.asarray(predictions(problem, np.asarray(problem.values)))


def _additive_ridge(problem: SeenPairs, times: float) -> Array:
    """Return the predictions at unseen pairs, with the ridge k_2 - c k_1 + (c - 1) k_0, where c is `times`."""
    k0, k1, k2 = problem.levels
    shared = np.sqrt(k1 - k0) * codes(problem.p)
    features = np.hstack([np.full((len(shared), 1), np.sqrt(k0)), shared])[np.asarray(problem.order)]
    seen, labels = features[: problem.n], np.asarray(problem.values)[np.asarray(problem.order)][: problem.n]
    penalty = (k2 - times * k1 + (times - 1) * k0) * np.eye(features.shape[1])
    return jnp.asarray(features[problem.n :] @ np.linalg.solve(seen.T @ seen + penalty, seen.T @ labels))


class LazyIsBelowChance(AbstractLazyPrediction):
    """Let a lazy network be trained on the one-hot codes of a + b mod p, p >= 7, on a random share of at least 0.3 of
    all pairs (a, b). Its accuracy on the other pairs is below the chance level 1/p: the mean accuracy is 0, up to a
    tenth of 1/p. If independent uniform labels replace the sums, the accuracy is 1/p. The reason is twofold. First, the
    output is a sum u(a) + v(b). Second, a training pair that shares a or b with the predicted pair always has another
    class than the predicted pair.
    """

    title = "A lazy network is below chance on modular addition, however large the share of training pairs"
    source = Source("emergence2026", "Figure 19.16", note="modular addition in the lazy regime, measured")
    stated = Kind.OWN
    population = TablesOfPairs(least=7)
    relation = EqualInMean(resolution=0.1)
    control = Control("the accuracy on the sums is half of chance", lambda gain, problem: gain / 2)
    trials = 24

    def predict(self, problem: SeenPairs) -> Array:
        return jnp.asarray(1 / problem.p)

    def measure(self, problem: SeenPairs, key: Key[Array, ""]) -> Array:
        """The mean accuracy on tables of independent labels, minus the accuracy on the table of sums."""
        p, unseen = problem.p, np.asarray(problem.order)[problem.n :]
        drawn = np.asarray(jax.random.randint(key, (p**2, _TABLES), 0, p))
        tables = np.concatenate([sums(problem)[:, None], drawn], axis=1)
        right = predictions(problem, np.eye(p)[tables]).argmax(axis=-1) == tables[unseen]
        accuracies = right.mean(axis=0)
        return jnp.asarray(accuracies[1:].mean() - accuracies[0])


class LazyRanksTheAnswerLast(AbstractLazyPrediction):
    """Let a kernel on pairs (a, b) of residues modulo p be k_0 if two pairs share neither a nor b, k_1 if they share
    one of the two, and k_2 if they share both. Let k_0 < k_1 and c = k_2 - 2 k_1 + k_0 > 0. Fit kernel regression
    without a ridge to the one-hot codes of a + b mod p, on all pairs except one. Let

        m_1 = c + p (k_1 - k_0),   m_0 = c + 2p (k_1 - k_0) + p² k_0,   D = (1/m_0 + 2(p-1)/m_1 + (p-1)²/c)/p².

    At the pair that is left out, the output of the right class is 1 - (1/(p m_0) + (1 - 1/p)/c)/D, and the output of
    every other class is (1/(pc) - 1/(p m_0))/D. The first output is always the smaller one, so the right class comes
    last. If k_0 and k_1 - k_0 are large compared with c, these outputs are about -1/(p-1) and p/(p-1)².

    Derivation: over all pairs, the kernel matrix K has the eigenvalues m_0 (constants), m_1 (functions of a or of b
    with mean 0) and c (the rest). So D is a diagonal entry of K^(-1). The labels y of a class are 1/p plus a function
    in the eigenspace of c. The output at a pair i that is left out is y_i - (K^(-1) y)_i/D. The two outputs differ by 1
    - 1/(c D), which is negative, because D is a weighted mean of the inverse eigenvalues, of which 1/c is the largest.
    """

    title = (
        "A lazy network trained to add modulo p on all pairs but one ranks the right class of the left-out pair last"
    )
    source = Source("emergence2026", "Figure 19.16", note="modular addition with one pair left out, in closed form")
    stated = Kind.OWN
    population = TablesOfPairs(share=None)
    relation = Equal()
    control = Control(
        "the outputs have their values for large k_0 and k_1 - k_0", lambda outputs, problem: _at_large_levels(problem)
    )

    def predict(self, problem: SeenPairs) -> Array:
        (k0, k1, _), p, c = problem.levels, problem.p, problem.ridge
        once = c + p * (k1 - k0)
        both = once + p * (k1 - k0) + p**2 * k0
        own = (1 / both + 2 * (p - 1) / once + (p - 1) ** 2 / c) / p**2
        return jnp.asarray([1 - (1 / (p * both) + (1 - 1 / p) / c) / own, (1 / (p * c) - 1 / (p * both)) / own])

    def measure(self, problem: SeenPairs, key: Key[Array, ""]) -> Array:
        """Return the outputs of the right class and of one other class."""
        found = predictions(problem, np.eye(problem.p)[sums(problem)])[0]
        right = sums(problem)[int(problem.order[-1])]
        return jnp.asarray([found[right], found[(right + 1) % problem.p]])


def _at_large_levels(problem: SeenPairs) -> Array:
    p = problem.p
    return jnp.asarray([-1 / (p - 1), p / (p - 1) ** 2])
