"""What claims are about, by section: mathematical tool, architecture, object, and the open problem they bear on."""

import functools
import pathlib
import tomllib
from typing import Any

FILE = pathlib.Path(__file__).with_name("classification.toml")
TOOLS = (
    "reproducing kernels", "spectral theory", "Fourier analysis", "concentration", "empirical processes",
    "convex optimisation", "dynamical systems", "random matrices", "information theory", "combinatorics",
    "Gaussian processes", "approximation theory", "linear algebra", "statistics", "complexity",
)  # fmt: skip
ARCHITECTURES = (
    "any", "linear model", "kernel method", "dense network", "convolution", "attention", "state-space model",
    "diffusion model", "random features", "graph network", "transformer in context",
)  # fmt: skip
OBJECTS = (
    "kernel", "function class", "score", "training", "generalisation", "spectrum", "estimator", "cost", "sampler",
    "memory", "construction", "inequality",
)  # fmt: skip
FACETS = {"tool": TOOLS, "architecture": ARCHITECTURES, "object": OBJECTS}
"""The words that a classification may use."""
PROBLEMS = range(1, 8)
"""The survey's open problems, by number."""


@functools.cache
def sections() -> dict[str, dict[str, Any]]:
    """The table of every section by its name, "chapter.section"; within it a table a claim that differs.

    >>> sections()["high_dimension.ridgeless"]["tool"]
    'random matrices'
    """
    chapters = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {f"{chapter}.{name}": table for chapter, parts in chapters.items() for name, table in parts.items()}


def classification(section: str, claim: str) -> dict[str, Any]:
    """Tool, architecture and object of a claim, empty where its section is not classified, and its problem or None.

    Args:
        section: the section's name, "tangent.finite_width".
        claim: the name of the claim's class.

    >>> classification("tangent.fields_at_finite_width", "AttentionWidth")["architecture"]
    'attention'
    """
    table = sections().get(section, {})
    own = table.get(claim, {})
    words = {facet: own.get(facet, table.get(facet, "")) for facet in FACETS}
    return {**words, "problem": own.get("problem", table.get("problem"))}
