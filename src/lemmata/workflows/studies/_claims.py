"""Examine which theorems apply to a table, which of their hypotheses fail, and the likely cause of each failure."""

import dataclasses
import math
import time
from collections.abc import Callable, Iterator

import jax.numpy as jnp
import numpy as np

from lemmata.core import key_from
from lemmata.engine.claims import Claim, cite, examine, registry
from lemmata.engine.problems.regression import Regression
from lemmata.errors import LemmataError

from ._data import Dataset
from ._models import Model

PROBLEM_ROWS = 400


def regression(dataset: Dataset, model: Model, ridge: float, seed: int) -> Regression:
    """Return a regression problem with at most 400 training rows and 400 held-out rows, drawn at random."""
    order = np.random.default_rng([seed, 2]).permutation(len(dataset.x))
    half = min(PROBLEM_ROWS, len(order) // 2)
    x, y = (jnp.asarray(array[order[: 2 * half]]) for array in (dataset.x, dataset.y))
    return Regression(
        x[:half], y[:half], x[half:], y[half:], model.kernels[0], jnp.asarray(ridge), jnp.asarray(jnp.nan)
    )


def examinations(
    problem: Regression,
    architecture: str,
    seed: int,
    deadline: float = math.inf,
    progress: Callable[[str, int, int], None] = lambda stage, done, total: None,
) -> Iterator[tuple[dict, Claim]]:
    """Examine every registered claim about regression problems.

    Args:
        problem: the user's problem, with the kernel of one architecture.
        architecture: the name of the kernel's architecture, for the record.
        seed: the seed of the measurements.
        deadline: the `time.monotonic()` after which claims are recorded as not examined.
        progress: a function that is called with the stage, the number of finished claims and the number of all claims.

    Yields:
        For each claim, when it is finished: an entry of the `claims` section of study.json, and the claim itself.
    """
    speaking = [claim for claim in registry().values() if _speaks(claim, problem)]
    for done, claim in enumerate(speaking):
        progress("Claims", done, len(speaking))
        record = {**_words(claim), "architecture": architecture, "status": "not examined", "hypotheses": []}
        if time.monotonic() < deadline:
            record.update(_numbers(claim, problem, seed))
        yield record, claim
    progress("Claims", len(speaking), len(speaking))


def bibliography(claims: list[Claim]) -> list[dict]:
    """Return the references of these claims, each once, for the report."""
    texts = {claim.source.key: claim.source.text for claim in claims}
    return [{"key": key, "text": text} for key, text in sorted(texts.items(), key=lambda item: item[1])]


def _speaks(claim: Claim, problem: Regression) -> bool:
    try:
        return claim.of_data and claim.population.posed(problem) is not None
    except (LemmataError, ArithmeticError, ValueError):
        return True  # `_numbers` then records the failure with its reason


def _words(claim: Claim) -> dict:
    return {
        "name": claim.name,
        "title": claim.title,
        "statement": claim.statement,
        "source": str(claim.source),
        "reference": cite(claim)[0],
        "controls": claim.controls,
        "unexplained": claim.unexplained,
        "label": claim.relation.label,
        "relation": str(claim.relation),
        "as_printed": claim.expected == "refuted",
    }


def _numbers(claim: Claim, problem: Regression, seed: int) -> dict:
    """Return the examination as plain values, or why it broke off.

    An examination that breaks off says nothing about the claim.
    """
    try:
        found = examine(claim, problem, key_from(seed, "examination", claim.name))
    except (LemmataError, ArithmeticError, ValueError, RuntimeError) as error:
        return {"status": "failed", "culprit": f"the computation failed: {error}"}
    finite = math.isfinite(found.predicted) and math.isfinite(found.measured)
    status = "inapplicable" if not found.applies else "applies" if finite else "failed"
    return {
        "status": status,
        "hypotheses": [dataclasses.asdict(finding) for finding in found.hypotheses],
        "prediction": found.predicted,
        "measurement": found.measured,
        "ratio": found.ratio,
        "trivial": found.trivial,
        "vacuous": None if found.vacuous is None else found.vacuous > 0.5,
        "agrees": found.agrees,
        "culprit": found.culprit,
    }
