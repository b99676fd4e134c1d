"""Verifies the claims of a chapter and writes their table into its page: python docs/tables.py softmax in_context."""

import pathlib
import re
import sys
import time

import jax

from lemmata.claims import Claim, Equal, Verdict, registry, verify

FOLDER = pathlib.Path(__file__).parent
BEGIN, END = "<!-- table: written by docs/tables.py -->", "<!-- end of the table -->"
# Sections of each chapter in the order of its source; sections that are not named here come last.
ORDER = {
    "softmax": (
        "network", "infinite_width", "definiteness", "drift", "facts", "tails", "concentration", "normalisation",
        "perturbation", "perturbation_proof", "gradient", "decomposition", "remainders", "progress", "induction",
        "convergence", "comparison", "regression", "speeds", "coupling", "diffusion", "denoisers", "score_matching",
        "score_error", "approximation", "early_stopping", "sampling", "attention",
    ),
    "in_context": (
        "barron", "example_classes", "logistic_units", "covering", "risk", "scaling", "penalty", "steps", "integrals",
        "features", "uniform_features", "estimation", "deviation", "maxima", "proximal", "inexact", "emulation",
        "temperature", "precision", "acceleration", "shifts", "linear_attention",
    ),
}  # fmt: skip


def place(claim: Claim) -> tuple[int, str]:
    """Where the claim's section stands."""
    chapter, section = claim.name.split(".")[:2]
    order = ORDER[chapter]
    return (order.index(section), "") if section in order else (len(order), section)


def claims_of(chapter: str) -> list[Claim]:
    """The chapter's claims, in the order of the source's sections and of the code within one."""
    return sorted((claim for name, claim in registry().items() if name.startswith(f"{chapter}.")), key=place)


def number(value: float) -> str:
    """A few digits, and powers of ten where they are shorter."""
    text = f"{value:.3g}"
    found = re.fullmatch(r"(-?[\d.]+)e([+-]\d+)", text)
    return f"{found[1]}·10^{int(found[2])}" if found else text


def row(claim: Claim, verdict: Verdict) -> str:
    """A line of the table."""
    refuted_identity = isinstance(claim.relation, Equal) and verdict.status == "refuted"
    slack = "" if verdict.slack is None or verdict.slack[1] == 0 or refuted_identity else number(verdict.slack[1])
    vacuous = "" if verdict.vacuous is None else f"{verdict.vacuous:.0%}"
    said = f"**{verdict.status}**" if verdict.status != "supported" else str(verdict.status)
    correction = f" (corrects `{claim.corrects.split('.')[-1]}`)" if claim.corrects else ""
    what = f"{claim.title}{correction} `{claim.name.partition('.')[2]}`"
    return f"| {claim.source.locator} | {what} | {said} | {slack} | {vacuous} |"


def table(chapter: str) -> str:
    """The table: each claim verified at its default budget."""
    lines = ["| statement | claim | verdict | slack | vacuous |", "| --- | --- | --- | ---: | ---: |"]
    start = time.perf_counter()
    for claim in claims_of(chapter):
        verdict = verify(claim, progress=False)
        lines.append(row(claim, verdict))
        print(f"{time.perf_counter() - start:6.1f} s  {verdict.status:<12} {claim.name}", flush=True)
    return "\n".join(lines)


def write(chapter: str) -> None:
    """Puts the table between its marks."""
    file = FOLDER / f"{chapter}.md"
    page = file.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    file.write_text(f"{before}{BEGIN}\n\n{table(chapter)}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    with jax.enable_x64(True):
        for name in sys.argv[1:] or ORDER:
            write(name)
