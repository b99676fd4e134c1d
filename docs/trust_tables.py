"""Writes the tables of docs/trust.md from the catalogue, no claim is run: python docs/trust_tables.py."""

import collections
import pathlib
import re
from collections.abc import Iterable
from typing import Any

from lemmata.engine.catalogue import distance_table, rows, score_table, scores, told_neighbour

PAGE = pathlib.Path(__file__).with_name("trust.md")
MARKS = "<!-- {0}: written by docs/trust_tables.py -->", "<!-- end of {0} -->"
BOUNDS = ("AtLeast", "AtMost", "Witness")
COUNTED = ("1.25", "1.25 alone", "0.2", "effect", "roles")
"""The mutations for whose survivors a claim is listed."""
STATES = ("supported", "vacuous", "inconclusive", "inapplicable", "outside", "unfinished", "refuted", "failed")
_SMALL = re.compile(r"(x|tighter by|narrower by) (1\.05|0\.95)|[+-]0\.1")
ALONE = "in component"


def mutated() -> dict[str, dict[str, Any]]:
    """The records of mutations, by the names of claims."""
    return {row["name"]: row["mutations"] for row in rows() if row["mutations"] is not None}


def mutations() -> Iterable[str]:
    """The number of tested claims, and the score by relation and by subject."""
    found = mutated()
    left = collections.Counter(record["left"] for record in found.values() if record["left"])
    earlier = sum(bool(record.get("earlier")) for record in found.values())
    told = ", ".join(f"{count} {why}" for why, count in sorted(left.items()))
    yield (
        f"So far, `lemmata mutate --write` has tested mutations of {len(found):,} of the {len(rows()):,} claims (seed "
        f"0). For {earlier:,} of these claims, shared code has changed since. The score does not cover "
        f"{sum(left.values())} of the {len(found):,} claims ({told})."
    )
    yield ""
    yield from score_table(scores(found, lambda name, record: record["relation"]), "relation")
    yield ""
    yield from _told(found)
    yield ""
    yield from score_table(scores(found, lambda name, record: name.partition(".")[0]), "subject")


def _told(found: dict[str, dict[str, Any]]) -> Iterable[str]:
    """The scores in words."""
    known = scores(found, lambda name, record: record["relation"])

    def total(sizes: Iterable[str], relations: Iterable[str]) -> tuple[int, int]:
        pairs = [known.get(relation, {}).get(size, [0, 0]) for relation in relations for size in sizes]
        return sum(made for made, _ in pairs), sum(noticed for _, noticed in pairs)

    far, others = ("1.25", "0.2"), [relation for relation in known if relation not in BOUNDS]
    made, noticed = total(far, known)
    unbounded = total(far, others)
    effects, roles = total(("effect",), known), total(("roles",), known)
    weak = sum(row["weak"] for row in rows())
    yield (
        f"There were {made:,} mutations by a factor 1.25 or by 0.2 in an exponent. The trials noticed {noticed:,} of "
        f"them ({noticed / made:.0%}), that is, they did not support them. The aim is 95 %. A mutation that is not "
        "noticed is said to *survive*. Mutations of bounds and constructions can survive because a bound may be loose "
        "on all sampled problems. Without bounds and constructions, "
        f"{unbounded[1] / unbounded[0]:.1%} of the mutations were noticed. Of {effects[0]} mutations that switch the "
        f"effect off, {effects[0] - effects[1]} survived. Of {roles[0]} mutations with exchanged variables, "
        f"{roles[0] - roles[1]} survived. Of the claims that the score covers, {weak} are weak, that is, their nearest "
        "refuted neighbour is too far away."
    )


def distances() -> Iterable[str]:
    """The distances of the nearest refuted neighbours."""
    yield from distance_table(mutated())


def survivors() -> Iterable[str]:
    """The claims with surviving mutations, and their nearest refuted neighbours."""
    listed = []
    for name, record in sorted(mutated().items()):
        missed = {size for size, (made, noticed) in record["counts"].items() if made > noticed}
        if record["left"] or not missed & set(COUNTED):
            continue
        alone = sum(ALONE in own for own in record["survivors"])
        what = [own for own in record["survivors"] if ALONE not in own and not _SMALL.fullmatch(own)]
        what += [f"{alone} of single components"] if "1.25 alone" in missed else []
        near = ", ".join(told_neighbour(own) for own in record["nearest"] if own["part"] is None)
        listed.append(f"| `{name}` | {record['relation']} | {', '.join(what)} | {near} |")
    yield (
        f"For {len(listed)} claims, at least one of the following mutations survived: a factor 1.25, a change of 0.2 "
        "in an exponent, the effect switched off, or exchanged variables. The next table lists these claims:"
    )
    yield ""
    yield "| claim | relation | survived | nearest refuted |"
    yield "| --- | --- | --- | --- |"
    yield from listed


def walks() -> Iterable[str]:
    """How many claims were walked, and the verdicts at their settings."""
    known = [row for row in rows() if row["walk"] is not None]
    tested = [row for row in known if row["walk"]["settings"]]
    earlier = sum(bool(row["walk"].get("earlier")) for row in tested)
    yield (
        f"So far, `lemmata walk --write` has walked {len(tested)} of the {len(rows()):,} claims, the fastest first. "
        f"For {earlier} of these claims, shared code has changed since. Another {len(known) - len(tested)} claims have "
        "no variable, so a walk would have no settings to test."
    )
    yield ""
    yield f"| expected | claims | settings | {' | '.join(STATES)} |"
    yield f"| --- | ---: | ---: |{' ---: |' * len(STATES)}"
    for head, refuted in (("to hold", False), ("to be refuted", True)):
        own = [row["walk"] for row in tested if (row["expected"] == "refuted") is refuted]
        counts = [sum(walk.get(state, 0) for walk in own) for state in STATES]
        yield f"| {head} | {len(own)} | {sum(walk['settings'] for walk in own)} | {' | '.join(map(str, counts))} |"


def _wrapped(line: str) -> str:
    """A paragraph in lines of at most 150 characters; a row of a table stays one line."""
    if line.startswith("|"):
        return line
    lines = [""]
    for word in line.split():
        joined = f"{lines[-1]} {word}".strip()
        if len(joined) <= 150:
            lines[-1] = joined
        else:
            lines.append(word)
    return "\n".join(lines)


def written(text: str) -> str:
    """The page with the present tables between the marks."""
    for part in (mutations, distances, survivors, walks):
        first, last = (mark.format(part.__name__) for mark in MARKS)
        inside = "\n".join(map(_wrapped, part()))
        start, end = text.index(first) + len(first), text.index(last)
        text = f"{text[:start]}\n\n{inside}\n\n{text[end:]}"
    return text


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
