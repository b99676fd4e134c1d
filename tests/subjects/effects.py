"""Claims with the effect that they speak of switched off: a claim that is still supported judges something else."""

import jax

from lemmata.engine.claims import Claim, Status, verify
from lemmata.engine.claims._trials import compiled


def supported(claim: Claim, budget: int) -> bool:
    """Whether so many trials at the default setting support a claim, run by the code as it is patched now.

    Args:
        claim: the claim.
        budget: trials.
    """
    _forget()
    try:
        return verify(claim, budget=budget, corners=0, progress=False).status is Status.SUPPORTED
    finally:
        _forget()


def _forget() -> None:
    """Drop what was compiled with another body of the functions that a test patches."""
    compiled.cache_clear()
    jax.clear_caches()
