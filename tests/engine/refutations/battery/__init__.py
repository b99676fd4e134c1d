"""Classical false theorems, each beside its true neighbour: what a search for counterexamples must tell apart.

`PAIRS` are the claims, false and true; `CASES` say besides where the false one fails. The claims are ordinary ones, but
are not registered. A population's `free` names the array fields of its problems that may take any values for which the
hypotheses hold.
"""

from typing import Any

import jax

from lemmata.engine.claims import Claim

from . import (
    chance,
    combinatorics,
    eigenvalues,
    information,
    iterations,
    learning,
    matrices,
    matrix_order,
    optimisation,
    probability,
    scalars,
)
from ._textbook import Case as Case

_SUBJECTS = (
    probability,
    chance,
    information,
    learning,
    combinatorics,
    scalars,
    optimisation,
    iterations,
    matrices,
    eigenvalues,
    matrix_order,
)
CASES: tuple[Case, ...] = tuple(case for subject in _SUBJECTS for case in subject.CASES)
PAIRS: list[tuple[Claim, Claim]] = [(case.false, case.true) for case in CASES]


def witness(claim: Claim) -> tuple[dict[str, Any], Any]:
    """A whole setting of a false claim, and a problem there that contradicts it (where it is a matter of chance, one
    on which violations are too frequent).
    """
    (case,) = [case for case in CASES if type(case.false) is type(claim)]
    setting = claim.population.settings().resolve(case.setting)
    return setting, case.problem() if case.problem else claim.population.sample(setting, jax.random.key(0))
