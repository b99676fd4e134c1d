"""Small masked transformers, each pre-trained once, and classification tasks of a few rows for these models."""

import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, Key

from lemmata.engine.claims import Choice, Hypothesis, Integer, Population, Space
from lemmata.subjects.dynamics import (
    REVIEWS,
    FineTuningKernels,
    FreshHead,
    MaskedTransformer,
    WordPrompt,
    fine_tune,
    fine_tuning_kernels,
    prompted,
)  # fmt: skip
from lemmata.subjects.dynamics import pre_train as _pre_train

MODELS = 4
UNTIL, STEPS = 0.4, 300
_UNSEEN = 200
_DRAWS = 40  # about a tenth of the tasks is solved before training
MODEL = MaskedTransformer(REVIEWS.vocabulary, REVIEWS.length)
PROMPT, UNRELATED, HEAD = WordPrompt(MODEL), WordPrompt(MODEL, REVIEWS.unrelated), FreshHead(MODEL)


@functools.cache
def pre_trained(number: int) -> dict:
    """Return the parameters of the pre-trained model with this number. The same number always gives the same
    parameters.
    """
    return _pre_train(MODEL, jax.random.key(number))[0]


def descent(rate: Array) -> optax.GradientTransformation:
    """Return gradient descent with its rate as an array, so that another rate does not need another compilation."""
    return optax.GradientTransformation(_nothing_held, jax.tree_util.Partial(_downhill, rate))  # pyright: ignore


def _nothing_held(params: Any) -> tuple:
    return ()


def _downhill(rate: Array, slopes: Any, state: tuple, params: Any = None) -> tuple[Any, tuple]:
    return jax.tree.map(lambda slope: -rate * slope, slopes), state


class Way(eqx.Module):
    """A classifier made from a language model: a function f of parameters and texts, and its data.

    The data are the parameters before fine-tuning, training texts with classes y, and unseen texts, all in the format
    of the classifier.
    """

    f: Any
    params: dict
    texts: Int[Array, "n T"]
    unseen: Int[Array, "m T"]
    y: Float[Array, " n"]

    @functools.cached_property
    def kernels(self) -> FineTuningKernels:
        """The kernels of the training texts before fine-tuning."""
        return fine_tuning_kernels(self.f, self.params, self.texts)

    @property
    def rate(self) -> Array:
        """Half of the largest learning rate at which the linearised model's mean logistic loss is sure to fall."""
        return 4 * len(self.y) / jnp.linalg.eigvalsh(self.kernels.sgd)[-1]

    @functools.cached_property
    def path(self) -> list:
        """Parameters before and after fine-tuning to a mean loss of 0.4, by at most 300 steps.

        The parameters do not change if the loss is already this low at the start.
        """
        return fine_tune(self.f, self.params, self.texts, self.y, descent(self.rate), steps=[STEPS], until=UNTIL)

    def outputs(self, params: dict, texts: Int[Array, "m T"]) -> Float[Array, " m"]:
        """Return the outputs of f on the texts with these parameters."""
        return _outputs(self.f, params, texts)


@eqx.filter_jit
def _outputs(f: Any, params: dict, texts: Array) -> Array:
    return jax.vmap(lambda text: f(params, text))(texts)


class FewShotTask(eqx.Module):
    """A pre-trained model and reviews of a topic. The task is to distinguish praise of the topic from blame, regardless
    of the opinion about the other topic.

    Args:
        params: the pre-trained parameters of the model.
        texts, y: training texts and their classes, equally many of each class.
        unseen, unseen_y: texts and classes that are not used in training.
        start: the pre-trained parameters together with a random head that was not pre-trained.
    """

    params: dict
    texts: Int[Array, "n T"]
    y: Float[Array, " n"]
    unseen: Int[Array, "m T"]
    unseen_y: Float[Array, " m"]
    start: dict

    def prompt(self, words: WordPrompt = PROMPT) -> Way:
        """Return the classifier that compares the model's logits of two words, by default `great` and `terrible`."""
        return Way(words, self.params, prompted(self.texts), prompted(self.unseen), self.y)

    def fresh_head(self) -> Way:
        """Return the classifier without a prompt: a random head on the features of the first token."""
        return Way(HEAD, self.start, self.texts, self.unseen, self.y)

    def accuracy(self, outputs: Float[Array, " m"]) -> Array:
        """Return the share of unseen texts for which the output has the sign of the class."""
        return jnp.mean(outputs * self.unseen_y > 0)


class FewShotTasks(Population[FewShotTask]):
    """Tasks for one of four models of width 16, pre-trained on reviews that have the same opinion of two topics.

    In the tasks, the opinions of the two topics may differ.
    """

    settings = Space(
        shots=Integer(16, 4, 64, "rows of each class", corners=(16, 16)),
        topic=Choice("dish", ("dish", "film"), "topic of the classes"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> FewShotTask:
        """Draw a model, training texts, unseen texts and a fresh head."""
        keys = jax.random.split(key, 4)
        params = pre_trained(int(jax.random.randint(keys[0], (), 0, MODELS)))
        rows = [REVIEWS.task(own, count, setting["topic"])
                for own, count in ((keys[1], 2 * setting["shots"]), (keys[2], _UNSEEN))]  # fmt: skip
        return FewShotTask(params, *rows[0], *rows[1], HEAD.init(keys[3], params))

    def hypotheses(self, problem: FewShotTask) -> list[Hypothesis]:
        least = jnp.minimum(jnp.sum(problem.y > 0), jnp.sum(problem.y < 0))
        return [
            Hypothesis("training rows of the rarer class", least, ">=", 4, "a few-shot task has both classes"),
            Hypothesis(
                "unseen rows",
                float(len(problem.unseen_y)),
                ">=",
                100.0,
                "with fewer rows the accuracy is too uncertain",
            ),
        ]


def loss_before(task: FewShotTask) -> Array:
    """Return the mean logistic loss on the training rows with the prompt, before fine-tuning."""
    way = task.prompt()
    return jnp.mean(jax.nn.softplus(-way.y * way.outputs(way.params, way.texts)))


class UnsolvedTasks(Population[FewShotTask]):
    """Few-shot tasks on which fine-tuning with a prompt can lower the loss. Other tasks are drawn again.

    Args:
        topic: the default topic of the task, dish or film.
    """

    topic: str = "dish"

    def settings(self) -> Space:
        topic = Choice(self.topic, ("dish", "film"), "topic of the classes")
        return Space(**FewShotTasks().settings().variables | {"topic": topic})

    def sample(self, setting: dict, key: Key[Array, ""]) -> FewShotTask:
        """Draw tasks until the loss before training is above the loss at which training stops. If 40 draws do not give
        a task with such a loss, return the last task.
        """
        for number in range(_DRAWS):
            task = FewShotTasks().sample(setting, jax.random.fold_in(key, number))
            if loss_before(task) > UNTIL:
                break
        return task  # pyright: ignore[reportPossiblyUnboundVariable]  # _DRAWS > 0

    def hypotheses(self, problem: FewShotTask) -> list[Hypothesis]:
        """Return the hypotheses of `FewShotTasks`, and the hypothesis that the loss before training is above 0.4."""
        why = "fine-tuning stops at this loss; if the loss is already this low at the start, the parameters do not move"
        return [
            *FewShotTasks().hypotheses(problem),
            Hypothesis("mean loss before training", loss_before(problem), ">", UNTIL, why),
        ]
