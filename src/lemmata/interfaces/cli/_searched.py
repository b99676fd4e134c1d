"""Find the claims for given words: by the number of a statement, by name, or by the search of the site."""

import difflib
import re
from typing import Any

from lemmata.errors import UnknownNameError
from lemmata.interfaces.search import ask, claim_shelf

_NEAREST = 5
"""The number of claims that are shown if no claim has all words."""
_ALMOST = 0.85  # the least similarity of a misspelt locator (the number of a statement) to the right one


def searched(known: list[dict[str, Any]], part: str) -> tuple[list[dict[str, Any]], str]:
    """The matching claims, the best first, and a remark if some words were not found as they were typed.

    Args:
        known: the rows of the catalogue.
        part: a claim's tag, the number of a statement, part of a name with its dots or underscores, or any words;
            empty for all.

    Raises:
        UnknownNameError: if no claim is near, or the claim with a tag is no longer in the catalogue.
    """
    if not part.strip():
        return known, ""
    name = tagged(part.strip())
    exact = [row for row in known if row["name"] == name != part]
    exact = exact or [row for row in known if names_statement(row, part) or _names(row, part)]
    if exact:
        return exact, ""
    locators = {locator.lower(): locator for row in known for locator in row["locators"]}
    if difflib.get_close_matches(part.lower(), locators, n=1, cutoff=_ALMOST):
        raise nothing(
            part, list(locators.values()), "give words of a claim, part of its name, or the number of a statement"
        )
    found = ask(claim_shelf(known), part)
    if not found.best:
        raise nothing(part, [], "give words of a claim, part of its name, or the number of a statement")
    if found.hits:
        read = " and ".join(f"'{word}'" for word in found.mistyped)
        said = (
            f"No claim contains {read}. The following claims contain words with the nearest spelling." if read else ""
        )
        return [known[place] for place in found.hits], said
    return [
        known[place] for place in found.near[:_NEAREST]
    ], f"No claim contains all words; {found.told}. The nearest claims are:"


def tagged(name: str) -> str:
    """The name of the claim with this tag (the number of its page); any other name is returned unchanged.

    Args:
        name: a tag such as "0358", a claim's name, or any other word.

    Raises:
        UnknownNameError: if the claim with this tag is no longer in the catalogue.
    """
    from lemmata.engine.catalogue import entries, tags

    kind = tags().get(name)
    if kind is None:
        return name
    known = next((full for full, entry in entries().items() if entry["class"] == kind), None)
    if known is None:
        rule, remedy = "the tag of a claim of the catalogue", "run `lemmata list` to see all claims"
        raise UnknownNameError(f"tag {name}", found=f"the withdrawn claim {kind}", rule=rule, remedy=remedy)
    return known


def _names(row: dict[str, Any], part: str) -> bool:
    """Whether a text with a dot or an underscore is a part of a claim's name."""
    return bool(re.search(r"[._]", part)) and part.strip().lower() in row["name"]


def names_statement(row: dict[str, Any], locator: str) -> bool:
    """Whether a locator of the claim is `locator` or a part of it, as "(58a)" is of "(58)"."""
    wanted = locator.strip().lower()
    for known in (known.lower() for known in row["locators"]):
        if wanted in (known, re.sub(r"[a-z]\)$", ")", known)) or known.startswith(f"{wanted},"):
            return bool(wanted)
    return False


def nothing(part: str, words: list[str], rule: str) -> UnknownNameError:
    """Return the error for a search without a match, with the nearest words.

    Args:
        part: the words that the user gave.
        words: words that the user may have meant.
        rule: what the user may give.
    """
    known = {word.lower(): word for word in words}
    near = [known[word] for word in difflib.get_close_matches(part.lower(), known, n=3, cutoff=0.7)]
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    return UnknownNameError(
        f"nothing matches '{part}'", rule=rule, remedy=f"{meant}run `lemmata list` to see all claims"
    )
