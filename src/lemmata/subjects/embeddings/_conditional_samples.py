"""Samples of representations and labels from a source and a target. Some pairs of domains have finitely many labels."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.engine.problems.generators import generator_of
from lemmata.subjects.embeddings import conditional_covariance_distance, conditional_mean_distance


class ConditionalSamples(eqx.Module):
    """Representations z and labels y of a source and a target. The kernels are linear, so the features are z and y
    themselves.

    Args:
        z_s: representations of the source.
        y_s: labels of the source.
        z_t: representations of the target.
        y_t: labels of the target.
        ridge: the ridge e.
    """

    z_s: Float[Array, "n d"]
    y_s: Float[Array, "n q"]
    z_t: Float[Array, "m d"]
    y_t: Float[Array, "m q"]
    ridge: float = eqx.field(static=True)

    @property
    def mean_distance(self) -> Float[Array, ""]:
        """The squared distance of the mean operators, computed from Gram matrices."""
        (s, t), (a, b) = (self.z_s, self.z_t), (self.y_s, self.y_t)
        return conditional_mean_distance((s @ s.T, a @ a.T), (t @ t.T, b @ b.T), (s @ t.T, a @ b.T), self.ridge)

    @property
    def covariance_distance(self) -> Float[Array, ""]:
        """The squared distance of the covariance operators, computed from Gram matrices."""
        (s, t), (a, b) = (self.z_s, self.z_t), (self.y_s, self.y_t)
        return conditional_covariance_distance((s @ s.T, a @ a.T), (t @ t.T, b @ b.T), s @ t.T, self.ridge)

    @property
    def spread(self) -> float:
        """An upper bound on the squared condition number of the labels' second-moment matrix plus the ridge."""
        return (1 + max(float(jnp.sum(y**2)) / len(y) for y in (self.y_s, self.y_t)) / self.ridge) ** 2

    def operator(self, target: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the conditional mean operator U and the conditional covariance operator R of one sample, as matrices
        computed from moments of z and y.
        """
        z, y = (np.asarray(own) for own in ((self.z_t, self.y_t) if target else (self.z_s, self.y_s)))
        ridge = self.ridge * np.eye(y.shape[1])
        u = z.T @ y / len(y) @ np.linalg.inv(y.T @ y / len(y) + ridge)
        z, y = z - z.mean(axis=0), y - y.mean(axis=0)
        moved = z.T @ y / len(y)
        return u, z.T @ z / len(z) - moved @ np.linalg.solve(y.T @ y / len(y) + ridge, moved.T)


class ConditionalPairs(Population[ConditionalSamples]):
    """Representations that are linear maps of normal labels plus noise.

    Args:
        between: whether the target's linear map is near that of the source; otherwise the two maps are independent.
    """

    between: bool = False

    def settings(self) -> Space:
        return Space(
            rows=Integer(40, 10, 400, "rows of the source"), columns=Integer(3, 1, 6, "columns of z"),
            labels=Integer(2, 1, 4, "columns of y"), ridge=Real(0.1, 0.01, 10.0, "ridge"),
        ).where("more rows than columns", lambda s: s["rows"] > 2 * (s["columns"] + s["labels"]))  # fmt: skip

    def sample(self, setting: dict, key: Key[Array, ""]) -> ConditionalSamples:
        rng, n, d, q = generator_of(key), setting["rows"], setting["columns"], setting["labels"]
        slope = rng.normal(size=(q, d))
        other = slope + 0.3 * rng.normal(size=(q, d)) if self.between else rng.normal(size=(q, d))
        y_s, y_t = rng.normal(size=(n, q)), rng.normal(size=(n + 5, q))
        z_s, z_t = y_s @ slope + rng.normal(size=(n, d)), y_t @ other + 2 * rng.normal(size=(n + 5, d))
        z_s, y_s, z_t, y_t = map(jnp.asarray, (z_s, y_s, z_t, y_t))
        return ConditionalSamples(z_s, y_s, z_t, y_t, setting["ridge"])

    def hypotheses(self, problem: ConditionalSamples) -> list[Hypothesis]:
        return [Hypothesis("the ridge", problem.ridge, ">", 0.0, "without a ridge the operator may not exist")]


class ShiftedLabels(Population[ConditionalSamples]):
    """Samples with z = b y in source and target, without noise, and with more widely spread labels in the target.

    Each label is one number: standard normal in the source, and `wider` times a standard normal number in the target.
    """

    def settings(self) -> Space:
        return Space(
            rows=Integer(40, 10, 400, "rows of the source"), columns=Integer(3, 1, 6, "columns of z"),
            ridge=Real(0.3, 0.001, 10.0, "ridge", corners=(0.2, 0.6)),
            wider=Real(3.0, 1.5, 10.0, "deviation of the target's labels", corners=(2.5, 4.0)),
        )  # fmt: skip

    def sample(self, setting: dict, key: Key[Array, ""]) -> ConditionalSamples:
        rng, n = generator_of(key), setting["rows"]
        direction = rng.normal(size=(1, setting["columns"]))
        y_s, y_t = rng.normal(size=(n, 1)), setting["wider"] * rng.normal(size=(n + 5, 1))
        z_s, y_s, z_t, y_t = map(jnp.asarray, (y_s @ direction, y_s, y_t @ direction, y_t))
        return ConditionalSamples(z_s, y_s, z_t, y_t, setting["ridge"])

    def hypotheses(self, problem: ConditionalSamples) -> list[Hypothesis]:
        ratio = jnp.mean(problem.y_t**2) / jnp.mean(problem.y_s**2)
        return [
            Hypothesis(
                "mean square of the target's labels, divided by that of the source's labels",
                ratio,
                ">",
                1.0,
                "the claim is about labels that shift",
            ),
            Hypothesis("the ridge", problem.ridge, ">", 0.0, "without a ridge the operators are equal"),
        ]


class NormalConditionals(eqx.Module):
    """Two domains in which y is standard normal, and z is b y plus s times a standard normal number. z and y have one
    column.

    Args:
        slopes: b of source and target.
        noises: s of source and target.
        ridge: the ridge e.
    """

    slopes: Float[np.ndarray, " 2"]
    noises: Float[np.ndarray, " 2"]
    ridge: float = eqx.field(static=True)

    @property
    def residuals(self) -> Float[np.ndarray, " 2"]:
        """The conditional variance R of z given y, with the ridge, in the source and in the target."""
        return self.noises**2 + self.slopes**2 * self.ridge / (1 + self.ridge)

    def draw(self, key: Key[Array, ""], rows: int) -> ConditionalSamples:
        """Draw `rows` pairs (z, y) from each domain."""
        rng = generator_of(key)
        y_s, y_t, e_s, e_t = jnp.asarray(rng.normal(size=(4, rows, 1)))
        first, second = self.slopes[0] * y_s + self.noises[0] * e_s, self.slopes[1] * y_t + self.noises[1] * e_t
        return ConditionalSamples(first, y_s, second, y_t, self.ridge)


class SpreadPairs(Population[NormalConditionals]):
    """Domains with random slopes. The target has the larger noise, and its slope is drawn from a wider range."""

    def settings(self) -> Space:
        wider = Real(2.5, 1.5, 4.0, "the target's noise", corners=(2.0, 3.0))
        return Space(ridge=Real(1.0, 0.01, 2.0, "ridge"), wider=wider)

    def sample(self, setting: dict, key: Key[Array, ""]) -> NormalConditionals:
        """Draw slopes between -1 and 1 in the source, and between -3 and 3 in the target. The source's noise is about
        1.
        """
        rng = generator_of(key)
        noises = np.array([1.0, setting["wider"]]) * rng.uniform(0.9, 1.1, 2)
        return NormalConditionals(np.array([1.0, 3.0]) * rng.uniform(-1, 1, 2), noises, setting["ridge"])

    def hypotheses(self, problem: NormalConditionals) -> list[Hypothesis]:
        return [
            Hypothesis("the smaller noise", problem.noises.min(), ">", 0.0, "at 0 the square root has no derivative")
        ]


class LabelledDomains(eqx.Module):
    """Two domains with finitely many labels. Given a label, z is normal in either domain. The prediction is w z.

    Args:
        labels: the values y of the label.
        source: probabilities of the labels in the source.
        target: probabilities of the labels in the target.
        means: means of z given each label, in the source and in the target.
        variances: variances of z given each label, in the source and in the target.
        weight: the weight w of z in the prediction.
    """

    labels: Float[np.ndarray, " K"]
    source: Float[np.ndarray, " K"]
    target: Float[np.ndarray, " K"]
    means: Float[np.ndarray, "2 K"]
    variances: Float[np.ndarray, "2 K"]
    weight: Float[np.ndarray, ""]

    def errors(self, domain: int) -> Float[np.ndarray, " K"]:
        """Return the mean squared error given each label."""
        return (self.weight * self.means[domain] - self.labels) ** 2 + self.weight**2 * self.variances[domain]

    def moments(self, domain: int) -> Float[np.ndarray, "2 K"]:
        """Return the means of z² and of z given each label. These means form the conditional mean operator of the
        features (z², z).
        """
        return np.stack([self.means[domain] ** 2 + self.variances[domain], self.means[domain]])


class DomainPairs(Population[LabelledDomains]):
    """Random source and target domains with finitely many labels.

    Args:
        shift: `"labels"` if only the distribution of the labels differs. Otherwise, only the distribution of z given
            the labels differs.
    """

    shift: str = "labels"
    settings = Space(labels=Integer(4, 2, 12, "labels"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> LabelledDomains:
        """Draw two random domains. Half of the problems are worst cases. In a worst case, errors occur at only one
        label, or moments change in the direction in which the loss changes most.
        """
        rng, count = generator_of(key), setting["labels"]
        labels, worst = rng.normal(size=count), rng.random() < 0.5
        source = rng.dirichlet(np.full(count, 3.0))
        target = rng.dirichlet(np.full(count, 3.0)) if self.shift == "labels" else source
        weight = 0.5 + rng.random()
        means, variances = labels / weight + 0.3 * rng.normal(size=count), 0.05 + rng.random(count)
        if self.shift == "labels":
            if worst:
                means, variances = labels / weight, np.zeros(count)
                variances[np.argmax(target / source)] = 1.0
            both = np.stack([means, means]), np.stack([variances, variances])
        else:
            moved = 0.2 * rng.random() * np.stack([np.full(count, weight**2), -2 * weight * labels])
            moved = moved if worst else 0.2 * rng.normal(size=(2, count))
            other = means + moved[1]
            square = np.maximum(means**2 + variances + moved[0], other**2)
            both = np.stack([means, other]), np.stack([variances, square - other**2])
        return LabelledDomains(labels, source, target, both[0], both[1], np.asarray(weight))

    def hypotheses(self, problem: LabelledDomains) -> list[Hypothesis]:
        if self.shift == "labels":
            apart = np.abs(problem.means[0] - problem.means[1]).max()
            return [
                Hypothesis(
                    "distance of the conditional means",
                    apart,
                    "<=",
                    0.0,
                    "the claim is about a shift of the labels' distribution alone",
                )
            ]
        apart = np.abs(problem.source - problem.target).max()
        return [
            Hypothesis(
                "distance of the distributions of labels",
                apart,
                "<=",
                0.0,
                "the claim is about a shift of z given y alone",
            )
        ]
