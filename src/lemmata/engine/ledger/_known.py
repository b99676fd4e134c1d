"""What a ledger knows about claims before a run: valid verdicts, trials, times, and the evidence of all sessions.

A session consists of the trials of a claim with one seed.
"""

import dataclasses
import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from lemmata.engine.catalogue import costs
from lemmata.engine.claims import (
    CORNERS,
    UNSEEN,
    Claim,
    Prospect,
    Sample,
    Status,
    Verdict,
    allowed_misses,
    budget_of,
    count_e_value,
    fingerprint_of,
    is_stale,
    joined,
    misses,
    nearness,
    p_e_value,
    recorded,
    shared,
    trials_print_of,
    verdict_from,
)

from ._file import Ledger
from ._recorded import stacked_rows
from ._rows import reading

_SECONDS = 10.0  # the assumed time of a claim, if no claim has a measured time


@dataclasses.dataclass(frozen=True)
class Known:
    """The contents of a ledger and of the catalogue about the current code of a claim.

    Args:
        claim: the claim.
        seed: the seed of the session that a run would judge.
        verdict: the valid verdict of that session; None if the session has no valid verdict.
        last: the last verdict, from any session; None if there is no verdict.
        sessions: the number of seeds for which the ledger has a verdict.
        trials: the number of trials at the default setting, over all sessions.
        waiting: the number of trials of that session that are already stored, at the default setting.
        seconds: the longest time of a verdict in seconds, or else the catalogue's time; None if neither is known.
    """

    claim: Claim
    seed: int
    verdict: Verdict | None
    last: Verdict | None
    sessions: int
    trials: int
    waiting: int
    seconds: float | None


def known_of(
    ledger: Ledger, run: int, claims: Iterable[Claim], seed: int, budget: int | None = None, level: float | None = None,
    corners: int | None = None, fresh: bool = False,
) -> list[Known]:  # fmt: skip
    """The contents of the ledger and the catalogue about each claim before a run.

    A verdict is valid if it was made with the current code, and with the same seed, budget, level, versions and device.
    The verdict must be on the default setting, with its extra settings. The verification must have run to the end,
    without a failure and without missing data.

    Args:
        ledger: an open ledger.
        run: the number of the run that begins. A valid verdict has the versions and the device of this run.
        claims: the claims that the run may judge.
        seed: as in `verify`.
        budget: as in `verify`.
        level: as in `verify`; None means that verdicts of any level are valid.
        corners: as in `verify`.
        fresh: whether to use, for each claim, the first seed from `seed` on that has no verdict in the ledger yet.
    """
    verdicts = _verdicts(ledger, run)
    counts = _counts(ledger)
    found = []
    for claim in claims:
        key, ran = (claim.name, fingerprint_of(claim)), (claim.name, trials_print_of(claim))
        setting = json.dumps(claim.population.settings().default, sort_keys=True)
        own = [row for row in verdicts.get(key, []) if row["setting"] == setting]
        if fresh:
            used = {row["seed"] for row in own if row["whole"]}
            own_seed = next(number for number in range(seed, seed + len(used) + 1) if number not in used)
        else:
            own_seed = seed
        standing = [row for row in own if row["seed"] == own_seed and row["same"] and row["whole"]]
        standing = [] if fresh else [_read(ledger, claim, row) for row in standing]
        standing = [verdict for verdict in standing if _complete(claim, verdict, budget, level, corners)]
        judged = None if is_stale(claim) else recorded(claim)
        last = _read(ledger, claim, own[-1]) if own else judged
        trials = sum(count for (name, code, text, _), count in counts.items() if (name, code, text) == (*ran, setting))
        cost = costs().get(type(claim).__name__)
        seconds = [row["seconds"] for row in own] or ([] if cost is None else [cost])
        found.append(Known(
            claim, own_seed, standing[-1] if standing else None, last,
            len({row["seed"] for row in own if row["whole"]}),
            max(trials, judged.judged if judged else 0),
            counts.get((*ran, setting, own_seed), 0), max(seconds, default=None),
        ))  # fmt: skip
    return found


def prospects(known: list[Known], budget: int | None = None) -> list[Prospect]:
    """The `Prospect` of each claim: the cost of judging the claim, and the information that the judgement can give."""
    timed = [own.seconds for own in known if own.seconds is not None]
    usual = float(np.median(timed)) if timed else _SECONDS
    return [
        Prospect(
            own.claim, own.trials, max((budget or budget_of(own.claim)) - own.waiting, 0), nearness(own.last),
            usual if own.seconds is None else own.seconds,
        )
        for own in known
    ]  # fmt: skip


def evidence_of(ledger: Ledger, claim: Claim) -> float:
    """The e-value against a claim (see `claims._evidence`), from all sessions in the ledger with its current code.

    A miss is a single trial that contradicts the claim. If the claim's relation has misses, the misses at the default
    setting are counted over all sessions together. The misses at extra settings are counted in each session separately.
    Half of the weight goes to the default setting, and half to the extra settings, like the level of a verdict. For
    other relations, each session contributes an e-value, which is computed from the p-value of the session's first
    verdict. Sessions have different seeds, so their trials are independent.
    """
    key, ran = (claim.name, fingerprint_of(claim)), (claim.name, trials_print_of(claim))
    space = claim.population.settings()
    default = json.dumps(space.default, sort_keys=True)
    allowed = allowed_misses(claim.relation)
    if allowed is None:
        found = ledger.query(
            "SELECT seed, json_extract(record, '$.p_value') AS p FROM verdicts WHERE claim = ? AND fingerprint = ? "
            "AND setting = ? AND NOT json_extract(record, '$.interrupted') AND status != 'failed' ORDER BY id DESC",
            *key, default,
        )  # fmt: skip
        return joined(p_e_value(p) for p in {row["seed"]: row["p"] for row in found}.values())
    sessions = [row["seed"] for row in ledger.query(
        "SELECT DISTINCT seed FROM trials WHERE claim = ? AND fingerprint = ? ORDER BY seed", *ran
    )]  # fmt: skip
    missed = total = 0
    others = []
    for seed in sessions:
        count, trials = _misses(ledger, claim, ran, default, seed)
        missed, total = missed + count, total + trials
        corners = [json.dumps(corner, sort_keys=True) for corner in space.corners(CORNERS, seed)]
        told = [_misses(ledger, claim, ran, corner, seed) for corner in corners]
        told = [count_e_value(*own, allowed) for own in told if own[1]]
        others += [sum(told) / len(told)] if told else []
    return shared(count_e_value(missed, total, allowed), [joined(others)] if others else [])


def _misses(ledger: Ledger, claim: Claim, key: tuple[str, str], setting: str, seed: int) -> tuple[int, int]:
    """The numbers of misses and of trials in a session at a setting, among trials whose hypotheses hold."""
    rows = ledger.query(
        "SELECT * FROM trials WHERE claim = ? AND fingerprint = ? AND setting = ? AND seed = ? AND holds "
        "AND NOT undefined ORDER BY number", *key, setting, seed
    )  # fmt: skip
    if not rows:
        return 0, 0
    stacked = stacked_rows([dict(row) for row in rows])
    return misses(claim.relation, Sample(stacked.predicted, stacked.measured, stacked.condition)), len(rows)


def _verdicts(ledger: Ledger, run: int) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Verdicts of earlier runs by claim and code.

    Only the first verdict on a claim in each run is used. A second verdict in a run is not new evidence, because it is
    the first verdict, corrected for the number of tested claims.
    """
    rows = ledger.query(
        "SELECT min(verdicts.id) AS id, claim, fingerprint, setting, verdicts.seed AS seed, seconds, "
        "NOT json_extract(record, '$.interrupted') AND status != 'failed' AS whole, "
        "runs.versions = now.versions AND runs.device = now.device AS same "
        "FROM verdicts JOIN runs ON runs.id = run JOIN runs AS now ON now.id = ? WHERE run < ? "
        "GROUP BY run, claim, fingerprint, setting, verdicts.seed ORDER BY id", run, run
    )  # fmt: skip
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault((row["claim"], row["fingerprint"]), []).append(dict(row))
    return found


def _counts(ledger: Ledger) -> dict[tuple[str, str, str, int], int]:
    rows = ledger.query(
        "SELECT claim, fingerprint, setting, seed, count(*) AS n FROM trials GROUP BY claim, fingerprint, setting, seed"
    )
    return {(row["claim"], row["fingerprint"], row["setting"], row["seed"]): row["n"] for row in rows}


def _read(ledger: Ledger, claim: Claim, row: dict[str, Any]) -> Verdict:
    (found,) = ledger.query("SELECT record FROM verdicts WHERE id = ?", row["id"])
    with reading():
        return verdict_from(claim, json.loads(found["record"]))


def _complete(claim: Claim, verdict: Verdict, budget: int | None, level: float | None, corners: int | None) -> bool:
    asked = CORNERS if corners is None else corners
    expected = claim.population.settings().corners(asked, verdict.seed)
    return (
        verdict.requested == (budget or budget_of(claim))
        and not verdict.reason.startswith(UNSEEN)
        and (level is None or verdict.level == level)
        and (verdict.status is Status.REFUTED or [own.setting for own in verdict.corners] == expected)
    )
