"""Simulated curves of known truth: laws, sizes and noise drawn anew, none of which the intervals were tuned on."""

import dataclasses
from collections.abc import Callable

import numpy as np


@dataclasses.dataclass(frozen=True)
class Curve:
    """A law, the sizes at which it was measured, and losses with noise."""

    law: Callable[[np.ndarray], np.ndarray]
    floor: float
    exponent: float
    sizes: np.ndarray
    losses: np.ndarray


def drawn(rng: np.random.Generator, noise: str = "normal") -> Curve:
    """6 to 14 sizes over 1.5 to 4 decades; excess from 0.3 to 10 floors at first; noise of 0.1 to 2 %."""
    floor, exponent = np.exp(rng.uniform(np.log(0.3), np.log(3))), rng.uniform(0.15, 0.7)
    excess = floor * np.exp(rng.uniform(np.log(0.3), np.log(10)))
    law = lambda n: floor + excess * (np.asarray(n) / 1e6) ** -exponent
    sizes = 1e6 * np.logspace(0, rng.uniform(1.5, 4), rng.integers(6, 15))
    spread = np.exp(rng.uniform(np.log(0.001), np.log(0.02)))
    draws = {"normal": rng.normal, "heavy": lambda size: rng.standard_t(3, size)}[noise.split()[0]](size=len(sizes))
    if "outlier" in noise:
        draws[rng.integers(len(draws))] += 8 * rng.choice([-1, 1])
    return Curve(law, float(floor), float(exponent), sizes, law(sizes) * np.exp(spread * draws))


def surface(rng: np.random.Generator) -> tuple[Callable, tuple[np.ndarray, np.ndarray], np.ndarray]:
    """A law in n and d, a grid of five by five, and losses with noise of 0.3 %."""
    floor, a, b = 1.7 * np.exp(0.3 * rng.normal()), 400 * np.exp(0.3 * rng.normal()), 400 * np.exp(0.3 * rng.normal())
    alpha, beta = rng.uniform(0.28, 0.4), rng.uniform(0.25, 0.35)
    law = lambda n, d: floor + a * n**-alpha + b * d**-beta
    n, d = (axis.ravel() for axis in np.meshgrid(np.logspace(7, 9.5, 5), np.logspace(8.5, 11, 5)))
    return law, (n, d), law(n, d) * np.exp(0.003 * rng.normal(size=25))
