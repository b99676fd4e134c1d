"""Rows with a backdoor: when the spectrum of the features shows them, and votes that they cannot change.

This theory describes the top eigenvalue and eigenvector of features if a fraction of the rows is shifted. It also says
how many rows must change before a vote of models changes, if the models are trained on disjoint parts of the rows. It
assumes features that are isotropic except for the shift. It does not explain an adversary who hides in a direction of
large variance.
"""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from lemmata.engine.claims import AtMost, Claim, Control, Equal, EqualInMean, Source
from lemmata.subjects.robustness import partition_certificate, spiked_overlap
from lemmata.subjects.robustness._poisoned_rows import Backdoor, Backdoors, PartitionVotes, Parts, SeparatedParts, Votes

ABOUT = {"tool": "random matrices", "architecture": "any", "object": "spectrum"}


def _top_eigenpair(problem: Backdoor, key: Key[Array, ""]) -> tuple[float, float]:
    """Return the largest eigenvalue of the covariance of drawn rows, and its eigenvector's squared cosine.

    The cosine is that of the angle between the eigenvector and the shift.
    """
    generator = np.random.default_rng(np.asarray(jax.random.bits(key, (2,), "uint32")))
    rows = generator.standard_normal((problem.n, problem.d))
    shifted = round(problem.fraction * problem.n)
    share = shifted / problem.n
    rows[:shifted, 0] += np.sqrt(float(problem.spike) / (share * (1 - share)))
    values, vectors = np.linalg.eigh(np.cov(rows.T, bias=True))
    return float(values[-1]), float(vectors[0, -1] ** 2)


class OverlapOfTheTopEigenvector(Claim[Backdoor]):
    """Let n rows have d standard normal features, and shift a fraction eps of the rows (the backdoor) by a vector of
    length delta. Let the spike be l = eps (1 - eps) delta², and let gamma = d/n. If l > sqrt(gamma), the squared cosine
    of the angle between the top eigenvector of the rows' covariance and the direction of the shift tends to

        (1 - gamma/l²) / (1 + gamma/l)

    as n and d grow.
    """

    title = (
        "If a backdoor's spike exceeds sqrt(d/n), a formula gives the cosine of the covariance's top "
        "eigenvector with the shift"
    )
    source = Source("paul2007", note="main result, for the spike that shifted rows make")
    population = Backdoors()
    relation = EqualInMean(margin=0.04, resolution=0.06)
    control = Control(
        "the squared cosine is 1/(1 + gamma/l), without a threshold",
        lambda value, problem: 1 / (1 + problem.gamma / problem.spike),
    )
    controls = "the direction in which one looks for poisoned rows"
    unexplained = "features that have directions of large variance of their own"
    traced = False  # decompositions in one compiled batch can wait for each other on a CPU
    trials = 96

    def predict(self, problem: Backdoor) -> Array:
        return jnp.asarray(spiked_overlap(float(problem.spike), problem.gamma))

    def measure(self, problem: Backdoor, key: Key[Array, ""]) -> Array:
        return jnp.asarray(_top_eigenpair(problem, key)[1])


class TopEigenvalueOfABackdoor(Claim[Backdoor]):
    """Let n rows have d standard normal features, and shift a fraction eps of the rows (the backdoor) by a vector of
    length delta. Let the spike be l = eps (1 - eps) delta², and let gamma = d/n. As n and d grow, the largest
    eigenvalue of the covariance of the rows tends to

        (1 + l)(1 + gamma/l) for l > sqrt(gamma),   (1 + sqrt(gamma))² for l <= sqrt(gamma).

    So a backdoor with a spike below sqrt(gamma) does not change the limit of this eigenvalue. To detect a backdoor with
    the spike l from this eigenvalue, one needs n > d/l² rows.
    """

    title = "The spectrum of the covariance shows a backdoor only if the backdoor's spike exceeds sqrt(d/n)"
    source = Source("emergence2026", "Figure 13.17", note="with the threshold, by the law of spiked covariances")
    population = Backdoors(high=3.0, hidden=True)
    relation = EqualInMean(margin=0.03, resolution=0.03)
    control = Control("the largest eigenvalue is 1 + l", lambda value, problem: 1 + problem.spike)
    controls = "whether the spectrum shows poisoned rows at all"
    unexplained = "spikes near the threshold at finite n"
    traced = False  # decompositions in one compiled batch can wait for each other on a CPU
    trials = 48

    def predict(self, problem: Backdoor) -> Array:
        spike, gamma = problem.spike, problem.gamma
        return jnp.where(spike**2 > gamma, (1 + spike) * (1 + gamma / spike), (1 + gamma**0.5) ** 2)

    def measure(self, problem: Backdoor, key: Key[Array, ""]) -> Array:
        return jnp.asarray(_top_eigenpair(problem, key)[0])


class SpectralSignature(Claim[Parts]):
    """Let D and W be distributions with covariances at most sigma² I and with the means mu_D and mu_W. In a mixture of
    D and W, let W have the weight eps < 1/2, and let |mu_D - mu_W|² >= 6 sigma²/eps. Let mu be the mean of the mixture,
    and let v be the top eigenvector of its covariance. Write D(.) for the probability of an event if the row x is drawn
    from D, and write W(.) for this probability if x is drawn from W. For some threshold t,

        D(|<x - mu, v>| > t) < eps   and   W(|<x - mu, v>| < t) < eps.
    """

    title = "A threshold along the top eigenvector of the covariance separates a backdoor from the other rows"
    source = Source("tran2018", "Lemma 3.1", note="main result, with the constant 6")
    population = SeparatedParts()
    relation = AtMost()
    control = Control("both shares are less than half of eps", lambda share, problem: share / 2)
    controls = "how many rows a spectral signature misplaces"
    unexplained = "normal distributions, which are separated far better; distributions that are nearer to each other"
    traced = False  # thresholds are found by sorting
    trivial = 0.5

    def predict(self, problem: Parts) -> Array:
        return jnp.asarray(problem.eps)

    def measure(self, problem: Parts, key: Key[Array, ""]) -> Array:
        """Return the larger of two shares of misplaced rows, minimised over t.

        The shares are those of rows of D with |<x - mu, v>| > t, and of rows of W with |<x - mu, v>| < t.
        """
        generator = np.random.default_rng(np.asarray(jax.random.bits(key, (2,), "uint32")))
        rows, sigma, q = generator.standard_normal((problem.n, problem.d)), float(problem.sigma), problem.stray
        if problem.atoms:
            far = generator.random(problem.n) < q
            rows[:, 0] = np.where(far, ((1 - q) / q) ** 0.5, -((q / (1 - q)) ** 0.5))
        second = np.arange(problem.n) < round(problem.eps * problem.n)
        rows = sigma * rows
        rows[second, 0] = float(problem.distance) - rows[second, 0]
        moved = rows - rows.mean(axis=0)
        score = np.abs(moved @ np.linalg.eigh(moved.T @ moved)[1][:, -1])
        order = second[np.argsort(score)]
        below = np.cumsum(order) / order.sum()
        above = 1 - np.cumsum(~order) / (~order).sum()
        return jnp.asarray(np.maximum(below, above).min())


class VotesThatSurvive(Claim[Votes]):
    """Train models on disjoint parts of the rows, and let them vote. If two classes have equally many votes, the class
    with the smaller index wins. Let v_c be the number of votes of class c, and let class c win. Class c still wins
    after a change of any

        floor( (v_c - max over c' != c of (v_c' + 1{c' < c})) / 2 )

    rows, because each row changes at most one vote. Here 1{c' < c} is 1 if c' < c, and 0 otherwise. This number cannot
    be improved: if one more vote may change, some change of the votes lets another class win.
    """

    title = "A vote of models trained on disjoint rows survives the change of a known number of training rows"
    source = Source("levine2021", note="main result, for changed rows, with the converse")
    population = PartitionVotes()
    relation = Equal()
    control = Control("the winner survives one more row", lambda rows, problem: rows + 1)
    controls = "the number of rows that an adversary must change"
    unexplained = "adversaries who cannot reach the votes that they must change"
    traced = False  # counts and searches are NumPy's

    def predict(self, problem: Votes) -> Array:
        return jnp.asarray(float(partition_certificate(np.asarray(problem.answers), problem.classes).rows))

    def measure(self, problem: Votes, key: Key[Array, ""]) -> Array:
        """Return the least number of changed votes that elects another class, over all possible votes, minus 1."""
        given = np.asarray(problem.answers)
        every = np.array(list(itertools.product(range(problem.classes), repeat=len(given))))
        counts = (every[:, :, None] == np.arange(problem.classes)).sum(axis=1)
        winner = np.bincount(given, minlength=problem.classes).argmax()
        changed = (every != given).sum(axis=1)
        return jnp.asarray(float(changed[counts.argmax(axis=1) != winner].min() - 1))
