"""A problem that a search may change: the place where it was drawn, and its free fields."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, hypotheses_of, measured, root_key


def called_free(claim: Claim) -> tuple[str, ...]:
    """The fields that the population's class lists as `free`; none if `free` is itself a field of the population."""
    population = claim.population
    own = dataclasses.is_dataclass(population) and any(field.name == "free" for field in dataclasses.fields(population))
    return () if own else tuple(getattr(population, "free", ()))


def free_fields(claim: Claim, problem: Any) -> tuple[str, ...]:
    """The fields that the population lists as free and that are floating-point arrays in this problem."""
    return tuple(name for name in called_free(claim) if eqx.is_inexact_array_like(getattr(problem, name, None)))


def with_fields(problem: Any, fields: dict[str, Any]) -> Any:
    """The problem with other values in some of its fields."""
    if not fields:
        return problem
    where = lambda tree: [getattr(tree, name) for name in fields]
    return eqx.tree_at(where, problem, [jnp.asarray(value) for value in fields.values()])


@dataclasses.dataclass(frozen=True)
class Place:
    """The data that determine a problem: a setting, the seed and number of a trial, and values of free fields.

    Args:
        setting: the setting of the population.
        seed, number: the seed and number of the trial that drew the problem.
        fields: values of free fields that replace the drawn values.
    """

    setting: dict[str, Any]
    seed: int
    number: int
    fields: dict[str, Float[np.ndarray, "..."]] = dataclasses.field(default_factory=dict)

    def keys(self, claim: Claim) -> tuple[Key[Array, ""], Key[Array, ""]]:
        """The random key of the problem, and the random key of the measurement."""
        sample_key, measure_key = jax.random.split(jax.random.fold_in(root_key(claim, self.seed), self.number))
        return sample_key, measure_key

    def problem(self, claim: Claim) -> Any:
        """The problem itself."""
        return with_fields(claim.population.sample(self.setting, self.keys(claim)[0]), self.fields)


@dataclasses.dataclass(frozen=True)
class Facts:
    """The result of a trial at a place: hypotheses, prediction, measurement and condition number."""

    hypotheses: list[Any]
    predicted: np.ndarray
    measured: np.ndarray
    condition: np.ndarray


def facts(claim: Claim, problem: Any, key: Key[Array, ""]) -> Facts:
    """Evaluate a claim on a problem, one operation at a time, without compiling it."""
    condition = 1.0 if claim.condition is None else claim.condition(problem)
    values = (claim.predict(problem), measured(claim, problem, key), condition)
    return Facts(hypotheses_of(claim, problem), *(np.asarray(value, float) for value in values))


def spelled_out(claim: Claim, place: Place) -> Place:
    """The same place, with the values of all free fields of its problem in `fields`."""
    problem = place.problem(claim)
    own = {name: np.asarray(getattr(problem, name), float) for name in free_fields(claim, problem)}
    return dataclasses.replace(place, fields=own)
