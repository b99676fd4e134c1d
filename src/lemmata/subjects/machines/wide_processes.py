"""Wide deep Gaussian processes: their posterior over a Gram matrix, if the labels count once or N times.

A process has N nu features in its hidden layer, where nu is fixed. The labels are columns of a Gaussian process whose
kernel matrix is a function of the Gram matrix G of these features. For two rows, G has three different entries, so the
posterior at every width is an integral over three numbers, and no Markov chain is needed. If the labels' likelihood
counts once, G returns to the prior as N grows. If the likelihood counts N times, G tends to the optimum of a deep
kernel machine, and features become normal. This theory gives both limits, and the rates at which they are approached.
It assumes one hidden layer of ReLU features on two rows. It does not explain many rows and layers at once, or networks,
whose features need not be normal.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Hypothesis, Integer, Kind, Population, Rate, Real, Source, Space
from lemmata.subjects.machines import deep_kernel_machine, rectify

from ._two_rows import Posterior, posterior

ABOUT = {"tool": "Gaussian processes", "architecture": "dense network", "object": "kernel"}


class TwoRows(eqx.Module):
    """Two rows with labels, a direction in the space of the two rows, and the settings of a process.

    Args:
        gram_0: the Gram matrix G_0 of the inputs.
        y: the labels of the two rows.
        along: the weights of the two rows in a linear combination of a feature's values.
        nu: the number of features for each copy of the labels.
        noise: the variance of the labels' noise.
    """

    gram_0: Float[Array, "2 2"]
    y: Float[Array, "2 C"]
    along: Float[Array, "2"]
    nu: Float[Array, ""]
    noise: Float[Array, ""]

    @property
    def prior(self) -> Float[Array, "2 2"]:
        """The Gram matrix K(G_0) of ReLU features under the prior."""
        own = jnp.diagonal(self.gram_0)
        return rectify(self.gram_0, own[:, None], own[None, :])


class TwoRowProcesses(Population[TwoRows]):
    """Normal rows of 3 dimensions, and normal labels of standard deviation 2."""

    settings = Space(
        columns=Integer(3, 2, 10, "columns of labels", corners=(2, 4)),
        nu=Real(2.0, 1.0, 4.0, "features for each copy of the labels"),
        noise=Real(0.3, 0.1, 2.0, "variance of the noise"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> TwoRows:
        keys = jax.random.split(key, 3)
        x = jax.random.normal(keys[0], (2, 3))
        gram = x @ x.T / 3 + 0.2 * jnp.eye(2)
        y = 2.0 * jax.random.normal(keys[1], (2, setting["columns"]))
        along = jax.random.normal(keys[2], (2,))
        return TwoRows(gram, y, along, jnp.asarray(setting["nu"]), jnp.asarray(setting["noise"]))

    def hypotheses(self, problem: TwoRows) -> list[Hypothesis]:
        least = jnp.linalg.eigvalsh(problem.gram_0)[0]
        return [
            Hypothesis("the smallest eigenvalue of G_0", least, ">", 0.0, "the rows differ"),
            Hypothesis("the noise", problem.noise, ">", 0.0, "the likelihood is bounded"),
        ]


_KEY = "yang2023theory"
_WIDTHS = (32.0, 64.0, 128.0, 256.0)


def at_width(problem: TwoRows, copies: float, n: float) -> Posterior:
    """Return the posterior of a process with n nu features.

    The likelihood of the labels enters the posterior `copies` times.
    """
    return posterior(
        np.asarray(problem.prior), np.asarray(problem.y), float(problem.noise), n * float(problem.nu), copies
    )


class StandardLimitKeepsPrior(Claim[TwoRows]):
    """Let a deep Gaussian process on two rows have N nu ReLU features in its hidden layer, where nu is fixed. The
    likelihood of its labels enters the posterior once. Let G_0 be the Gram matrix of the inputs, and let K be the
    kernel of the layer. As N grows, the posterior mean of the features' Gram matrix approaches the Gram matrix of the
    prior, K(G_0), at the rate 1/N. So the infinitely wide process learns no representation.
    """

    title = "If labels are observed once, the posterior of a deep Gaussian process approaches the prior like 1/width"
    source = Source(_KEY, "Abstract, standard limits", note="one hidden layer, two rows")
    stated = Kind.THEOREM
    population = TwoRowProcesses()
    relation = Rate("N", _WIDTHS, margin=0.1, resolution=0.1)
    control = Control("the rate is 1/sqrt(N)", lambda exponent, problem: exponent + 0.5)
    controls = "what a wide layer learns from its labels"
    unexplained = "parameterisations in which wide networks do learn features"
    trials = 20
    traced = False
    predict = -1.0

    def measure_at(self, problem: TwoRows, key: Key[Array, ""], n: float) -> Array:
        prior = np.asarray(problem.prior)
        return jnp.asarray(np.linalg.norm(at_width(problem, 1.0, n).mean - prior[[0, 0, 1], [0, 1, 1]]))


class WideProcessReachesMachine(Claim[TwoRows]):
    """Let a deep Gaussian process on two rows have N nu ReLU features in its hidden layer, where nu is fixed. The
    likelihood of its labels enters the posterior N times, as if each label were observed N times. Let y_c be the
    columns of the labels, and let s be the variance of their noise. Let K be the kernel of the layer, and let G_0 be
    the Gram matrix of the inputs. Let D(G | K) be the Kullback-Leibler divergence of N(0, G) from N(0, K). A deep
    kernel machine maximises the objective

        sum_c log N(y_c; 0, K(G) + s I) - nu D(G | K(G_0))

    over Gram matrices G. As N grows, the posterior mean of the features' Gram matrix approaches the optimum of this
    objective at the rate 1/N. It does not approach the Gram matrix K(G_0) of the prior.
    """

    title = "If labels are observed N times, a deep Gaussian process approaches a deep kernel machine's optimum as 1/N"
    source = Source(_KEY, "Abstract, experiments", note="one hidden layer, two rows")
    stated = Kind.THEOREM
    population = TwoRowProcesses()
    relation = Rate("N", _WIDTHS, margin=0.1, resolution=0.1)
    control = Control("the rate is 1/sqrt(N)", lambda exponent, problem: exponent + 0.5)
    controls = "the representation of a wide process"
    unexplained = "objectives with several maxima, of which a wide process takes the highest"
    trials = 8
    traced = False
    predict = -1.0

    def measure_at(self, problem: TwoRows, key: Key[Array, ""], n: float) -> Array:
        found = deep_kernel_machine(problem.gram_0, problem.y, nu=float(problem.nu), noise=float(problem.noise))
        best = np.asarray(found.grams[0])[[0, 0, 1], [0, 1, 1]]
        return jnp.asarray(np.linalg.norm(at_width(problem, n, n).mean - best))


class FeaturesBecomeNormal(Claim[TwoRows]):
    """Let a deep Gaussian process on two rows have N nu ReLU features in its hidden layer, where nu is fixed. The
    likelihood of its labels enters the posterior N times, as if each label were observed N times. As N grows, the
    posterior distribution of one feature's values at the two rows becomes normal. The excess kurtosis of a linear
    combination of these values falls at the rate 1/N.
    """

    title = "If labels are observed N times, features of a deep GP of width N nu have normal posteriors up to order 1/N"
    source = Source(_KEY, "Abstract, Gaussian posteriors", note="one hidden layer, two rows")
    stated = Kind.THEOREM
    population = TwoRowProcesses()
    relation = Rate("N", _WIDTHS, margin=0.15, resolution=0.15)
    control = Control("the rate is 1/sqrt(N)", lambda exponent, problem: exponent + 0.5)
    controls = "the distribution of a feature, given the labels"
    unexplained = "moments beyond the fourth, and several features together"
    reading = "'exactly normal' means normal in the limit"
    trials = 16
    traced = False
    predict = -1.0

    def measure_at(self, problem: TwoRows, key: Key[Array, ""], n: float) -> Array:
        width = n * float(problem.nu)
        return jnp.asarray(abs(at_width(problem, n, n).kurtosis(np.asarray(problem.along), width) - 3.0))
