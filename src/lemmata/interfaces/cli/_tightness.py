"""`lemmata refute --write`: search counterexamples claim by claim, and keep the results in the catalogue."""

from collections.abc import Iterator
from typing import Any

from lemmata.engine.claims import Claim
from lemmata.errors import DataError, SolverError

_KEPT = 25  # compiled functions are kept for this many claims, because most claims share small functions


def wanted() -> list[Claim]:
    """Return the claims to search: bounds, and statements false as printed; those that were fastest to judge first."""
    from lemmata.engine.catalogue import costs
    from lemmata.engine.claims import Status, registry
    from lemmata.engine.refutations import has_tightness

    seconds = lambda claim: costs().get(type(claim).__name__, 0.0)
    known = [claim for claim in registry().values() if has_tightness(claim) or claim.expected is Status.REFUTED]
    return sorted(known, key=seconds)


def is_recorded(claim: Claim) -> bool:
    """Whether the catalogue has a search of the claim's current code. Every field that it varied must still be free."""
    from lemmata.engine.catalogue import searches
    from lemmata.engine.claims import fingerprint_of

    record = searches().get(claim.name)
    if record is None or not set(record["moved"]) <= set(getattr(claim.population, "free", ())):
        return False
    return record["fingerprint"] == fingerprint_of(claim)


def searched_one_by_one(claims: list[Claim], minutes: float, seed: int) -> Iterator[tuple[Claim, dict[str, Any] | str]]:
    """Search claims in turn, and keep each record in the catalogue as soon as its search has ended.

    Args:
        claims: the claims to search, in this order.
        minutes: minutes of processor time for each claim.
        seed: the seed of all randomness.

    Returns:
        Each claim with its record, or with the reason why it could not be searched. In the second case the catalogue
        is unchanged.
    """
    import jax

    from lemmata.engine.catalogue import records
    from lemmata.engine.claims import compiled, judging, registry, write_beside
    from lemmata.engine.refutations import from_neighbour, measure_tightness

    known = list(registry().values())
    for number, claim in enumerate(claims):
        if claim.name not in records():
            yield claim, f"it has no verdict in the catalogue; first run {judging(claim)}"
            continue
        try:
            record = measure_tightness(from_neighbour(claim, known), 60 * minutes, seed=seed).to_json()
        except SolverError as error:
            yield claim, str(error)
            continue
        kept = {name: value for name, value in record.items() if name not in ("claim", "seconds")}
        try:
            write_beside(claim, "search", kept)
        except DataError as error:
            yield claim, f"its record could not be written: {error}"
            continue
        yield claim, record
        compiled.cache_clear()
        if number % _KEPT == _KEPT - 1:
            jax.clear_caches()  # hundreds of compiled functions would fill the memory
