"""Outside the hypotheses: other functions, other noise, and weights that are built for another number of examples.

No theorem covers these cases. The source (li2025incontext) assumes functions of the class for which the transformer is
built, sub-Gaussian noise, and the number N of examples for which the weights are built. The claims say what happens if
one of these assumptions fails. For waves, the risk grows with their frequency. Averages of heavy-tailed noise fall more
slowly than 1/sqrt(N). If the weights are built for another N, predictions are wrong by a factor, which is the ratio of
the two numbers N. It is open how a model could notice this.
"""

import dataclasses

import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import Claim, Control, Kind, Order, Rate, Source
from lemmata.engine.problems.noise_ladders import HeavyNoise, NoiseOnFeatures
from lemmata.engine.problems.prompts import Prompt, Prompts
from lemmata.networks import forward_steps

ABOUT = {"tool": "statistics", "architecture": "transformer in context", "object": "generalisation", "problem": 6}

_FREQUENCIES = (2.0, 4.0, 8.0, 16.0)
_LENGTHS = (64.0, 128.0, 256.0, 512.0)
_COUNTS = (64.0, 256.0, 1024.0, 4096.0)


class FrequencyOutside(Claim[Prompt]):
    """Build a transformer that learns bump functions in context, with fixed numbers of examples, features and layers.
    Give this transformer examples of a wave f(x) = cos(w <u, x>) of frequency w, where u is a unit vector. As w grows,
    these waves leave the class of bumps. The mean squared error of the transformer rises with w, although every wave
    has the amplitude 1. The bound of the source on this error rises with w too. It grows with the Barron parameter of
    the function, and a wave has the Barron parameter C_f = w.
    """

    title = "The error of a transformer built for bumps rises with the frequency of waves outside this function class"
    source = Source("li2025incontext", "Theorem 1", note="beyond its class")
    stated = Kind.OWN
    population = Prompts(free=("sigma",), n=64, N=64, T=100, queries=64, penalty=1e-3, accelerated=True)
    relation = Order("w", _FREQUENCIES)
    control = Control("the error falls with w", lambda sign, problem: -sign)
    controls = "the risk on functions outside the class"
    unexplained = "the frequency at which the prediction becomes useless"
    trials = 48
    predict = 1.0

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """Return the mean squared error at the queries for waves along the first feature's direction."""
        way = problem.model.features.directions[0]
        prompt, asked = problem.prompt, problem.model.features(problem.queries)

        def risk(w: Array) -> Array:
            wave = lambda x: jnp.cos(w * x @ way)
            found = forward_steps(problem.model, prompt, wave(problem.x) + problem.noise, asked, record=False)[1][0]
            return jnp.mean((found - wave(problem.queries)) ** 2)

        return jax.lax.map(risk, jnp.asarray(_FREQUENCIES))


class NoiseAverages(Claim[NoiseOnFeatures]):
    """Let z_i be independent noise with P(|z| > u) = u^(-3/2), which has infinite variance. Let phi be features in [0,
    1], and let x_i be the inputs of N examples. The noise enters the gradient of the Lasso through the mean of z_i
    phi(x_i) over the examples. The size of this mean falls with N like

        median |(1/N) sum_i z_i phi(x_i)|_inf ~ N^(-1/3)

    where |.|_inf is the largest absolute entry. The mean does not fall like sqrt(log N / N). Lemma 6 of the source
    states this rate for sub-Gaussian noise only.
    """

    title = "The mean of N noise values with infinite variance and tail u^(-3/2) falls only like N^(-1/3)"
    source = Source("li2025incontext", "Lemma 6", note="without assumption (2)")
    stated = Kind.OWN
    population = HeavyNoise(examples=int(_COUNTS[-1]))
    # The sum of N such numbers over N^(2/3) tends to a stable distribution of index 3/2. The deviation at N = 64
    # changes the slope.
    relation = Rate("N", _COUNTS, margin=0.05, resolution=0.08)
    control = Control("the mean of the noise falls like N^(-1/2)", lambda exponent, problem: exponent - 1 / 6)
    controls = "the noise in the gradient of the Lasso"
    unexplained = "which loss would be robust to such noise"
    trials = 32
    predict = -1 / 3  # 1/1.5 - 1

    def measure_at(self, problem: NoiseOnFeatures, key: Key[Array, ""], rung: float) -> Array:
        """Return the largest absolute entry of the mean over the first N examples; the median over repetitions."""
        count = int(rung)
        return jnp.median(jnp.abs(problem.noise[:, :count] @ problem.features[:count]).max(axis=1) / count)


class AnotherLength(Claim[Prompt]):
    """A transformer is built to solve the Lasso over features of a prompt's examples. Its weights depend on the number
    of examples for which they are built. Let a prompt have N examples, let phi be the features of a query, and let rho
    be the coefficients that a transformer with weights built for N examples finds. Let y_hat be the prediction of a
    transformer with weights built for 2 N examples. It is twice the correct value <phi, rho>, up to a relative error

        |y_hat - 2 <phi, rho>| / |<phi, rho>| ~ 1/N,

    where |.| is the root mean square over queries. The factor 2 arises in Attn2, the attention that writes the
    prediction. The weights of Attn2 contain as a factor the number of examples for which they were built. But attention
    divides by the number of examples in the prompt. The relative error comes from the query's own term in Attn1, the
    attention that moves the coefficients. This term is one of N + 1 terms, and it is cancelled only if Attn2 gives the
    correct prediction.
    """

    title = "On N examples, transformer weights built for 2 N examples predict twice the correct value"
    source = Source("li2025incontext", "(11)", note="with another N")
    stated = Kind.OWN
    population = Prompts(free=("family",), N=int(_LENGTHS[-1]), T=30, queries=16)
    relation = Rate("N", _LENGTHS, margin=0.05, resolution=0.1)
    control = Control("the relative error falls like N^(-1/2)", lambda exponent, problem: exponent + 0.5)
    controls = "predictions on prompts of another length"
    unexplained = "attention that divides by the number of tokens to which it attends"
    trials = 48
    predict = -1.0

    def measure_at(self, problem: Prompt, key: Key[Array, ""], rung: float) -> Array:
        """Return the relative root mean square distance of predictions from twice the correct value.

        Only the first N examples are used.
        """
        count, asked = int(rung), problem.model.features(problem.queries)
        prompt, y = problem.prompt[:count], problem.y[:count]
        built = lambda examples: dataclasses.replace(problem.model, examples=examples)
        run = lambda examples: forward_steps(built(examples), prompt, y, asked, record=False)[1][0]
        right = run(count)
        return jnp.sqrt(jnp.mean((run(2 * count) - 2 * right) ** 2) / jnp.mean(right**2))
