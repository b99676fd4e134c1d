"""Verifies the claims on softmax networks and writes their table into softmax.md: python docs/tables.py."""

import pathlib
import re
import time

import jax

from lemmata.claims import Claim, Equal, Verdict, registry, verify

PAGE = pathlib.Path(__file__).parent / "softmax.md"
CHAPTER = "softmax."
BEGIN, END = "<!-- table: written by docs/tables.py -->", "<!-- end of the table -->"
# Sections in the order of the source; sections that are not named here come last.
ORDER = (
    "network", "infinite_width", "definiteness", "drift", "facts", "tails", "concentration", "normalisation",
    "perturbation", "perturbation_proof", "gradient", "decomposition", "remainders", "progress", "induction",
    "convergence", "comparison", "regression", "speeds", "coupling", "diffusion", "denoisers", "score_matching",
    "score_error", "approximation", "early_stopping", "sampling", "attention",
)  # fmt: skip


def place(claim: Claim) -> tuple[int, str]:
    """Where the claim's section stands."""
    section = claim.name.split(".")[1]
    return (ORDER.index(section), "") if section in ORDER else (len(ORDER), section)


def chapter() -> list[Claim]:
    """The chapter's claims, in the order of the source's sections and of the code within one."""
    return sorted((claim for name, claim in registry().items() if name.startswith(CHAPTER)), key=place)


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
    what = f"{claim.title}{correction} `{claim.name.removeprefix(CHAPTER)}`"
    return f"| {claim.source.locator} | {what} | {said} | {slack} | {vacuous} |"


def table() -> str:
    """The table: each claim verified at its default budget."""
    lines = ["| statement | claim | verdict | slack | vacuous |", "| --- | --- | --- | ---: | ---: |"]
    start = time.perf_counter()
    for claim in chapter():
        verdict = verify(claim, progress=False)
        lines.append(row(claim, verdict))
        print(f"{time.perf_counter() - start:6.1f} s  {verdict.status:<12} {claim.name}", flush=True)
    return "\n".join(lines)


def write() -> None:
    """Puts the table between its marks."""
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    with jax.enable_x64(True):
        write()
