"""The kind of statement that a claim judges, and the kind that a locator (such as "Theorem 2") shows."""

import enum
import re


class Kind(enum.StrEnum):
    """The source's word for a statement, or the role of the statement in the source.

    `THEOREM` and `LEMMA` are results of the source. `STEP` is a place in a proof or in running text. `RULE` is an
    algorithm or a rule of thumb. `OWN` is a result that no source states. `FOLKLORE` is a statement that people read
    into works that do not make this statement. The source of the claim is a work with this misreading. `REPAIR`
    corrects a statement of the source.
    """

    THEOREM = "theorem"
    LEMMA = "lemma"
    STEP = "step"
    DEFINITION = "definition"
    EQUATION = "equation"
    REMARK = "remark"
    TABLE = "table"
    RULE = "rule"
    OWN = "own result"
    FOLKLORE = "folklore"
    REPAIR = "repair"


_KINDS = {
    "theorem": Kind.THEOREM,
    "corollary": Kind.THEOREM,
    "lemma": Kind.LEMMA,
    "proposition": Kind.LEMMA,
    "claim": Kind.LEMMA,
    "fact": Kind.LEMMA,
    "definition": Kind.DEFINITION,
    "assumption": Kind.DEFINITION,
    "equation": Kind.EQUATION,
    "remark": Kind.REMARK,
    "table": Kind.TABLE,
    "algorithm": Kind.RULE,
    "section": Kind.STEP,
    "appendix": Kind.STEP,
}


def kind_of(locator: str) -> Kind | None:
    """The kind of statement that the words of a locator show; None if they do not show a kind.

    >>> kind_of("Corollary 4.3"), kind_of("Lemma B.1, part 3"), kind_of("(41)"), kind_of("p. 12")
    (<Kind.THEOREM: 'theorem'>, <Kind.LEMMA: 'lemma'>, <Kind.EQUATION: 'equation'>, None)
    """
    if re.search(r"\bproof of\b", locator):
        return Kind.STEP
    if re.match(r"\(\d", locator):
        return Kind.EQUATION
    return _KINDS.get(re.split(r"[\s,]", locator.lower(), maxsplit=1)[0])
