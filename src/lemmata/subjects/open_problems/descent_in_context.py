"""Problem 2: does attention learn a step of gradient descent? One layer of linear attention learns a damped step.

This numerical test gives the matrix that stochastic descent finds for one layer of linear attention, on prompts of
linear functions. Among the steps of gradient descent, this matrix is the step of least risk. The noise of N examples
makes the step shorter than 1. The loss is convex in this matrix. The test does not explain softmax, several layers, or
training of all factors together.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, EqualInMean, Source
from lemmata.subjects.open_problems._attention_teachers import PromptLaw, PromptLaws

ABOUT = {"tool": "statistics", "architecture": "transformer in context", "object": "training", "problem": 2}

_STEPS, _WARM, _BATCH, _STEP = 300, 100, 8, 0.08


def trained_layer(law: PromptLaw, key: Key[Array, ""]) -> Float[Array, "d d"]:
    """Train the matrix G of linear attention by 300 steps from 0; return its mean over the last 200 steps.

    A prompt of examples X, y is answered by <query, G X'y / N>. The loss is the squared difference from <w, query>.
    Each step takes 8 fresh prompts. Since the gradient is linear in G, the step size does not bias the mean.

    Args:
        law: the distribution of the prompts.
        key: the source of randomness.
    """

    def step(gain: Array, own: Array) -> tuple[Array, Array]:
        moments, queries, answers = law.draw(own, _BATCH)
        errors = jnp.einsum("bi,ij,bj->b", queries, gain, moments) - answers
        gain = gain - _STEP * jnp.einsum("b,bi,bj->ij", errors, queries, moments) / _BATCH
        return gain, gain

    path = jax.lax.scan(step, jnp.zeros((law.d, law.d)), jax.random.split(key, _STEPS))[1]
    return path[_WARM:].mean(axis=0)


class TrainedLayerIsDampedDescent(Claim[PromptLaw]):
    """Let a prompt have N examples with inputs X in R^d and answers y = X w + z. The inputs and w are N(0, I), and the
    noise z has variance sigma². One layer of linear attention with matrix G answers a query by <query, G X'y / N>. For
    G = eta I, this answer is the prediction after one step of gradient descent on the prompt's squared error, from 0
    with step size eta. Train G from G = 0 by stochastic gradient descent on the squared error over fresh prompts. On
    average, training finds

        tr G / d = 1 / (1 + (d + 1 + sigma²) / N).

    The right side is the step size with the smallest risk. This step size is below 1, so the step is damped.
    """

    title = "A trained layer of linear attention is a damped step of gradient descent"
    source = Source("foundation2025", "Section 7.2", note="for one layer of linear attention")
    population = PromptLaws()
    relation = EqualInMean(resolution=0.025)
    control = Control(
        "the noise is left out: 1 / (1 + d/N)", lambda value, law: 0 * value + 1 / (1 + law.d / law.examples)
    )
    controls = "the matrix that training finds for one layer of linear attention"
    unexplained = "softmax; several layers; training of all factors together"
    trials = 64

    def predict(self, problem: PromptLaw) -> Array:
        return 1 / (1 + (problem.d + 1 + problem.variance) / problem.examples)

    def measure(self, problem: PromptLaw, key: Key[Array, ""]) -> Array:
        return jnp.trace(trained_layer(problem, key)) / problem.d
