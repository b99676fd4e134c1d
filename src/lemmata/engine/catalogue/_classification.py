"""Topics of claims: mathematical tool, architecture, object, and the open problem that a claim concerns.

Every section (a file of claims) states its topics at the top, in a constant `ABOUT` that no trial reads.
"""

import sys
from collections.abc import Mapping
from typing import Any

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
"""The words that a classification may use, by facet."""
PROBLEMS = range(1, 8)
"""The numbers of the open problems in the survey (foundation2025)."""


def about(module: str) -> dict[str, Any]:
    """The `ABOUT` of a section whose module is loaded; empty if there is none.

    `ABOUT` has a word for each facet (tool, architecture, object). If a claim needs other words than its section, the
    claim has an entry of its own.

    >>> import lemmata.subjects.high_dimension.ridgeless
    >>> about("lemmata.subjects.high_dimension.ridgeless")["tool"]
    'random matrices'
    """
    return getattr(sys.modules.get(module), "ABOUT", {})


def classification(told: Mapping[str, Any], claim: str) -> dict[str, Any]:
    """A claim's topics: tool, architecture, object and open problem. A topic that is not defined is empty or None.

    >>> told = {"tool": "statistics", "architecture": "any", "object": "score", "Width": {"architecture": "attention"}}
    >>> classification(told, "Width")
    {'tool': 'statistics', 'architecture': 'attention', 'object': 'score', 'problem': None}

    Args:
        told: the section's `ABOUT`.
        claim: the name of the claim's class.
    """
    own = told.get(claim, {})
    words = {facet: own.get(facet, told.get(facet, "")) for facet in FACETS}
    return {**words, "problem": own.get("problem", told.get("problem"))}


def misclassified(told: Mapping[str, Any]) -> str:
    """The first fault of an `ABOUT`: a wrong word, with the allowed words, or a missing facet. Empty if it has none.

    >>> misclassified({"tool": "statistics", "architecture": "any", "object": "luck"})[:33]
    "object 'luck'; known are kernel, "
    """
    tables = [own for own in told.values() if isinstance(own, dict)]
    for own in (told, *tables):
        for facet, word in own.items():
            if isinstance(word, dict) and own is told:
                continue
            known = [*PROBLEMS] if facet == "problem" else FACETS.get(facet, ())
            if word not in known:
                return f"{facet} {word!r}; known are {', '.join(map(str, known or (*FACETS, 'problem')))}"
    missing = [facet for facet in FACETS if facet not in told]
    return f"no {missing[0]}" if told and missing else ""
