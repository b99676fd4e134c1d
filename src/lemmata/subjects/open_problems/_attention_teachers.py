"""Attention heads that are fitted to the outputs of another head, and distributions of prompts of linear functions."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.engine.problems.sampled import draws


class TaughtHead(eqx.Module):
    """Prompts with scalar values v_t, and a teacher, which is the attention head sum_t softmax_t(<q, M x_t>) v_t.

    Each prompt has a query q and tokens x_t.

    Args:
        features: the matrix q x_t' as a vector, for each prompt and token t.
        values: the values v_t, with one prompt in each row.
        teacher: the matrix M of the teacher.
    """

    features: Float[Array, "n T pp"]
    values: Float[Array, "n T"]
    teacher: Float[Array, "p p"]

    def outputs(self, form: Float[Array, "p p"]) -> Float[Array, " n"]:
        """Return the output of the head with the matrix `form` for each prompt.

        Args:
            form: the matrix that replaces M.
        """
        return jnp.sum(jax.nn.softmax(self.features @ form.ravel(), axis=1) * self.values, axis=1)

    def loss(self, form: Float[Array, "p p"]) -> Float[Array, ""]:
        """Return half the mean squared difference between the outputs of the head with the matrix `form` and of the
        teacher.

        Args:
            form: the matrix that replaces M.
        """
        return 0.5 * jnp.mean((self.outputs(form) - self.outputs(self.teacher)) ** 2)


class RankOneTeachers(Population[TaughtHead]):
    """Normal queries, tokens and values. The teacher M has rank 1 and norm 2. There are fewer prompts than entries of
    M.
    """

    settings = Space(
        p=Integer(8, 4, 24, "width of the tokens", corners=(7, 9)),
        tokens=Integer(6, 2, 64, "tokens of a prompt", corners=(5, 7)),
        prompts=Integer(20, 4, 200, "prompts", corners=(18, 22)),
    ).where("fewer prompts than entries of M", lambda s: s["prompts"] < s["p"] ** 2)

    def sample(self, setting: dict, key: Key[Array, ""]) -> TaughtHead:
        n, length, p = setting["prompts"], setting["tokens"], setting["p"]
        queries, tokens, values, left, right = draws(key, (n, p), (n, length, p), (n, length), (p,), (p,))
        features = queries[:, None, :, None] * tokens[:, :, None, :]
        teacher = 2 * jnp.outer(left, right) / (jnp.linalg.norm(left) * jnp.linalg.norm(right))
        return TaughtHead(features.reshape(n, length, p * p), values, teacher)

    def hypotheses(self, problem: TaughtHead) -> list[Hypothesis]:
        spread = jnp.std(problem.outputs(problem.teacher))
        return [Hypothesis("the teacher's answers differ", spread, ">", 1e-6, "otherwise every head fits")]


class PromptLaw(eqx.Module):
    """The distribution of prompts of N examples y = <w, x> + z in R^d. Here x, w ~ N(0, I), and var z = sigma²."""

    variance: Float[Array, ""]
    d: int = eqx.field(static=True)
    examples: int = eqx.field(static=True)

    def draw(self, key: Key[Array, ""], number: int) -> tuple[Array, Array, Array]:
        """Draw prompts. Return X'y / N, a query, and the answer <w, query> for each prompt.

        Args:
            key: the random key.
            number: the number of prompts to draw.
        """
        count, d = self.examples, self.d
        x, w, z, query = draws(key, (number, count, d), (number, d), (number, count), (number, d))
        y = jnp.einsum("bnd,bd->bn", x, w) + jnp.sqrt(self.variance) * z
        return jnp.einsum("bnd,bn->bd", x, y) / count, query, jnp.sum(w * query, axis=1)


class PromptLaws(Population[PromptLaw]):
    """Distributions of prompts. The noise level sigma is uniform between 0 and the setting `noise`."""

    settings = Space(
        d=Integer(4, 1, 16, "dimension", corners=(3, 5)),
        examples=Integer(8, 2, 256, "examples of a prompt", corners=(8, 16)),
        noise=Real(1.0, 0.0, 2.0, "largest standard deviation of the noise"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> PromptLaw:
        noise = setting["noise"] * jax.random.uniform(key)
        return PromptLaw(noise**2, setting["d"], setting["examples"])

    def hypotheses(self, problem: PromptLaw) -> list[Hypothesis]:
        return [
            Hypothesis("the noise is moderate", problem.variance, "<=", 4.0, "then stochastic descent stays stable")
        ]
