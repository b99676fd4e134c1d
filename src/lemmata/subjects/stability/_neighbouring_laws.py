"""Random private algorithms: output distributions on data sets that differ in one row, and a loss of each output."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space

_SLACK = 1e-12


class NeighbouringLaws(eqx.Module):
    """The output distributions of an algorithm on two neighbouring data sets, and the loss of each output.

    Args:
        before, after: the probabilities of the k outputs on the two data sets.
        loss: the loss of each output, in [0, 1].
        eps, delta: the parameters of the algorithm's (eps, delta)-differential privacy.
    """

    before: Float[Array, " k"]
    after: Float[Array, " k"]
    loss: Float[Array, " k"]
    eps: Float[Array, ""]
    delta: Float[Array, ""]


class PrivateAlgorithms(Population[NeighbouringLaws]):
    """Private algorithms, with their output distributions on two neighbouring data sets.

    Half are randomised responses with the most informative loss, and half are exponential mechanisms.

    Args:
        low, high: the range of eps.
        leaks: whether the output reveals with a probability delta of up to 0.1 which data set was used. Otherwise,
            delta is 0.
    """

    free = ("loss",)
    low: float = eqx.field(static=True, default=0.1)
    high: float = eqx.field(static=True, default=3.0)
    leaks: bool = eqx.field(static=True, default=False)
    settings = Space(outputs=Integer(8, 2, 200, "outputs of the algorithm", corners=(2, 40)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> NeighbouringLaws:
        """Draw output distributions. Two additional outputs, of probability delta, each reveal one of the data sets."""
        keys = jax.random.split(key, 7)
        k, middle = setting["outputs"], (setting["outputs"] + 1) // 2
        eps = jax.random.uniform(keys[0], minval=self.low, maxval=self.high)
        delta = 0.1 * jax.random.uniform(keys[1]) if self.leaks else jnp.zeros(())
        tight = jax.random.bernoulli(keys[2])
        base = jax.random.exponential(keys[3], (k,))
        told = jnp.arange(k) < middle
        halves = jnp.where(told, base / base[:middle].sum(), base / base[middle:].sum())
        responses = jnp.stack([halves * jax.nn.sigmoid(jnp.where(told, 1, -1) * sign * eps) for sign in (1, -1)])
        # scores of the two data sets differ by at most 1; the exponential mechanism is proportional to exp(eps score/2)
        first, change = jax.random.normal(keys[4], (k,)), jax.random.uniform(keys[5], (k,), minval=-1.0, maxval=1.0)
        answers = jax.nn.softmax(eps / 2 * jnp.stack([first, first + change]) + jnp.log(base), axis=1)
        kept = (1 - delta) * jnp.where(tight, responses, answers)
        loss = jnp.where(tight, told, jax.random.uniform(keys[6], (k,)))
        given_away = jnp.stack([jnp.stack([delta, 0.0 * delta]), jnp.stack([0.0 * delta, delta])])
        before, after = jnp.concatenate([kept, given_away], axis=1)
        return NeighbouringLaws(before, after, jnp.concatenate([loss, jnp.array([1.0, 0.0])]), eps, delta)

    def hypotheses(self, problem: NeighbouringLaws) -> list[Hypothesis]:
        """Return the hypotheses of privacy, in both orders of the data sets, and of losses in [0, 1]."""
        beyond = lambda p, q: jnp.maximum(p - jnp.exp(problem.eps) * q, 0.0).sum()
        worst = jnp.maximum(beyond(problem.before, problem.after), beyond(problem.after, problem.before))
        name = "probability above e^eps times the probability on the other data set"
        return [
            Hypothesis(name, worst, "<=", problem.delta + _SLACK, "the algorithm is (eps, delta)-private"),
            Hypothesis("largest loss", jnp.abs(problem.loss).max(), "<=", 1.0, "the bound is for losses in [0, 1]"),
            Hypothesis("smallest loss", problem.loss.min(), ">=", 0.0, "the bound is for losses in [0, 1]"),
        ]


class Channel(eqx.Module):
    """The output of a private algorithm, as a channel: one data row is random, and all other rows are fixed.

    Args:
        prior: the distribution of the value of the random row.
        answers: the probabilities of the outputs, with one row for each value of the data row.
        loss: the loss of each output at each value of the data row, (values, outputs), in [0, 1].
        eps: the eps of the algorithm's eps-differential privacy.
    """

    prior: Float[Array, " z"]
    answers: Float[Array, "z k"]
    loss: Float[Array, "z k"]
    eps: Float[Array, ""]


class PrivateChannels(Population[Channel]):
    """Random channels. Half are algorithms whose output is a set of values, and half are exponential mechanisms.

    The output set contains the row's true value more often than any other value.
    """

    free = ("loss",)

    def settings(self) -> Space:
        values = Integer(12, 3, 200, "values of a row", corners=(6, 30))
        held = Integer(4, 1, 60, "number of values in an output set", corners=(1, 10))
        return Space(values=values, held=held).where(
            "sets contain less than half of the values", lambda s: 2 * s["held"] < s["values"]
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Channel:
        """Draw a channel with eps = 2 log((values - held)/held).

        For this eps, sets of `held` values are most informative.
        """
        keys = jax.random.split(key, 5)
        values, held = setting["values"], setting["held"]
        eps = 2 * jnp.log((values - held) / held)
        place = jnp.arange(values)
        inside = (place[:, None] - place[None, :]) % values < held
        sets = jnp.where(inside, jnp.exp(eps), 1.0)
        base = jax.random.exponential(keys[1], (values,))
        scores = base * jnp.exp(eps / 2 * jax.random.uniform(keys[2], (values, values)))
        tight = jax.random.bernoulli(keys[0])
        answers = jnp.where(tight, sets, scores)
        prior = jnp.where(tight, 1.0, jax.random.exponential(keys[3], (values,)))
        loss = jnp.where(tight, ~inside, jax.random.uniform(keys[4], (values, values)))
        return Channel(prior / prior.sum(), answers / answers.sum(axis=1, keepdims=True), loss, eps)

    def hypotheses(self, problem: Channel) -> list[Hypothesis]:
        """Return the hypotheses of privacy for any two values of the row, and of losses in [0, 1]."""
        logs = jnp.log(problem.answers)
        ratio = (logs.max(axis=0) - logs.min(axis=0)).max()
        return [
            Hypothesis("log ratio of probabilities", ratio, "<=", problem.eps, "the algorithm is eps-private", 1e-9),
            Hypothesis("largest loss", problem.loss.max(), "<=", 1.0, "the bound is for losses in [0, 1]"),
            Hypothesis("smallest loss", problem.loss.min(), ">=", 0.0, "the bound is for losses in [0, 1]"),
        ]
