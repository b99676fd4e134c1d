"""What `studies` found, as tables in Markdown."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable

import numpy as np

FACTORS = ("1", "2", "4")
SIGMAS = 1.645
KINDS = ("classes", "numbers", "heavy", "grouped", "timed", "codes")


def wilson(hits: int, total: int, z: float = 1.96) -> tuple[float, float]:
    """The 95 % interval of a share.

    >>> tuple(round(end, 3) for end in wilson(90, 100))
    (0.826, 0.945)
    """
    if total == 0:
        return 0.0, 1.0
    share = hits / total
    centre, spread = share + z * z / (2 * total), z * math.sqrt(share * (1 - share) / total + z * z / (4 * total**2))
    low, high = ((centre + sign * spread) / (1 + z * z / total) for sign in (-1, 1))
    return max(low, 0.0), min(high, 1.0)


def share(hits: int, total: int) -> str:
    """A share with its interval, in per cent."""
    if not total:
        return "-"
    low, high = wilson(hits, total)
    return f"{100 * hits / total:.1f} % ({100 * low:.0f} to {100 * high:.0f})"


def grid(title: str, heads: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A table in Markdown."""
    heads = list(heads)
    body = [f"| {' | '.join(map(str, row))} |" for row in rows]
    return "\n".join([f"\n### {title}\n", f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}", *body])


def report(lines: list[dict], half: str = "all") -> str:
    """Every part of what the file holds."""
    parts = []
    for command, told in (("tables", tables), ("signals", signals), ("generators", generators), ("speed", speed)):
        of_command = [line for line in lines if line["key"].startswith(command + " ")]
        runs = defaultdict(list)
        for line in of_command:
            runs[_run(line)].append(line)
        for run, own in sorted(runs.items()):
            kept = [line for line in own if half in ("all", line.get("half", half))]
            where = f", {half} half" if command == "tables" else ""
            parts.append(f"\n## {command}: {run}{where}\n\n{told(kept)}" if kept else "")
    return "\n".join(part for part in parts if part)


def _run(line: dict) -> str:
    """What lines of one run share: the models and --quick."""
    words = line["key"].split()
    if words[0] not in ("tables", "generators"):
        return "quick" if words[-1] == "quick" else "default"
    return f"models {words[4]}{', quick' if words[-1] == 'quick' else ''}"


def checks(lines: list[dict], truths: str = "truth") -> list[dict]:
    """Intervals beside the truth: one entry a line and factor."""
    found = []
    for line in lines:
        for factor in FACTORS:
            page, true = line.get("page", {}).get(factor), _true(line, factor, truths)
            if page is None or true is None:
                continue
            value, se = true
            rises = line["unit"]["rises"]
            below, above = value < page["lower"], value > page["upper"]
            near = page["lower"] - SIGMAS * se <= value <= page["upper"] + SIGMAS * se
            found.append(
                {
                    **{name: line[name] for name in ("table", "kind", "n", "draw", "best")},
                    "factor": factor,
                    "unit": line["unit"]["name"],
                    "page": page,
                    "truth": value,
                    "se": se,
                    "hit": not below and not above,
                    "near": near,
                    "optimistic": below if rises else above,
                    "pessimistic": above if rises else below,
                    "width": (page["upper"] - page["lower"]) / scale(line),
                    "share_se": se / max(page["upper"] - page["lower"], 1e-12),
                    "bias": (page["value"] - value) * (1 if rises else -1) / scale(line),
                }
            )
    return found


def _true(line: dict, factor: str, truths: str) -> tuple[float, float] | None:
    if truths == "own":
        return (line["own"], 0.0) if factor == "1" and line.get("own") is not None else None
    if truths == "following":
        value = line.get("following", {}).get(factor)
        return None if value is None else (value, 0.0)
    found = line.get(truths, {}).get(factor)
    return None if found is None else (found["value"], found["se"])


def scale(line: dict) -> float:
    """The error of guessing in the unit of the line: widths are told as shares of it."""
    guessing = line["unit"]["guessing"]
    return max(1 - guessing if line["unit"]["rises"] and line["unit"]["percent"] else abs(guessing), 1e-9)


def by_kind(rows: list[dict], told: Callable[[str, list[dict]], list]) -> list[list]:
    """A row for each kind that there is, and one for all."""
    kinds = [kind for kind in KINDS if any(row["kind"] == kind for row in rows)]
    return [told(kind, [row for row in rows if row["kind"] == kind]) for kind in kinds] + [told("all", rows)]


def tables(lines: list[dict]) -> str:
    """Coverage of intervals, of rows, of floors; regret; misses."""
    refused = [line for line in lines if "error" in line]
    lines = [line for line in lines if "error" not in line]
    if not lines:
        return "nothing was studied"
    parts = [
        f"{len({line['table'] for line in lines})} tables, {len(lines)} studies, {len(refused)} refused; seconds: study"
        f" {_median(line['seconds_study'] for line in lines):.0f}, truth"
        f" {_median(line['seconds_truth'] for line in lines):.0f} in the median.",
        _covered(lines, "truth", "Does the nominal 90 % interval of the best model hold the truth?"),
        _covered(lines, "own", "The same for the one model that the studied rows train, on all other rows"),
        _covered(lines, "following", "In time: the same for the one stretch that follows"),
        _covered(lines, "anywhere", "In time: the same for places that may be years away"),
        _needed(lines), _floors(lines), _regret(lines), _signals_missed(lines), _misses(lines),
    ]  # fmt: skip
    parts += [f"\nRefused: {line['table']} at {line['n']}: {line['error']}" for line in refused]
    return "\n".join(part for part in parts if part)


def _covered(lines: list[dict], truths: str, title: str) -> str:
    found = checks(lines, truths)

    def row(kind: str, own: list[dict], factor: str) -> list:
        return [
            kind, f"{factor}x", len(own), share(sum(item["hit"] for item in own), len(own)),
            share(sum(item["near"] for item in own), len(own)),
            sum(item["optimistic"] for item in own), sum(item["pessimistic"] for item in own),
            f"{100 * _median(item['width'] for item in own):.0f} %",
            f"{100 * _median(item['bias'] for item in own):+.1f} %",
            f"{100 * _median(item['share_se'] for item in own):.1f} %",
        ]  # fmt: skip

    rows = []
    for factor in FACTORS:
        own = [item for item in found if item["factor"] == factor]
        if own:
            rows += by_kind(own, lambda kind, part, factor=factor: row(kind, part, factor))
    heads = ["kind", "rows", "checks", "covered (95 % Wilson)", "covered within 1.645 se of the truth",
             "too optimistic", "too pessimistic", "median width / error of guessing",
             "median of page better than truth", "median se of truth / width"]  # fmt: skip
    return grid(title, heads, rows) if rows else ""


def needed(line: dict) -> dict | None:
    """What is said of the rows that the asked value takes, beside where the true curve comes to it."""
    from studies_truth import crossing

    truths = line.get("first_truth") or line.get("truth") or {}
    if line.get("needed") is None or not truths:
        return None
    curve = {item["m"]: item["value"] for item in truths.values()}
    where, rows = crossing(curve, line["asked"], line["unit"]["rises"])
    page = line["needed"]
    if where == "inside":
        optimistic, pessimistic = rows > page["upper"], rows < page["lower"]
    else:  # the truth is known to lie beyond an end
        optimistic = where == "above" and page["upper"] < rows
        pessimistic = where == "below" and page["lower"] > rows
    denied = where != "above" and any("however many rows" in item and "any model" in item for item in line["sentences"])
    return {**{name: line[name] for name in ("table", "kind", "n", "draw", "first")}, "where": where, "rows": rows,
            "page": page, "optimistic": optimistic, "pessimistic": pessimistic, "denied": denied}  # fmt: skip


def _needed(lines: list[dict]) -> str:
    found = [item for item in map(needed, lines) if item is not None]

    def row(kind: str, own: list[dict]) -> list:
        inside = [item for item in own if item["where"] == "inside"]
        bounded = [item for item in inside if math.isfinite(item["page"]["upper"])]
        ratios = [item["page"]["value"] / item["rows"] for item in inside]
        beyond = [item for item in own if item["where"] != "inside"]
        return [
            kind, len(inside), share(sum(not (item["optimistic"] or item["pessimistic"]) for item in inside),
                                     len(inside)),
            sum(item["optimistic"] for item in inside), sum(item["pessimistic"] for item in inside),
            f"{len(bounded)}", f"{_median(ratios):.2f}",
            f"{sum(item['optimistic'] or item['pessimistic'] for item in beyond)} of {len(beyond)}",
            sum(item["denied"] for item in own),
        ]  # fmt: skip

    heads = ["kind", "crossings inside", "covered", "too few rows told", "too many", "with a finite upper end",
             "median told / true", "contradictions where the crossing is outside", "reached though denied"]  # fmt: skip
    return grid("Rows that the asked value takes", heads, by_kind(found, row)) if found else ""


def floor(line: dict) -> dict | None:
    """The floor of the best model beside the truth at the largest size."""
    if not line.get("truth") or line.get("floor") is None:
        return None
    last = max(line["truth"].values(), key=lambda item: item["m"])
    page, rises = line["floor"], line["unit"]["rises"]
    gap = lambda end: (last["value"] - end) * (1 if rises else -1)
    return {**{name: line[name] for name in ("table", "kind", "n", "draw", "best")}, "m": last["m"],
            "truth": last["value"], "se": last["se"], "page": page,
            "beyond": gap(page["upper"] if rises else page["lower"]) > SIGMAS * last["se"],
            "median": gap(page["value"]) > SIGMAS * last["se"],
            "said": any("However many" in item or "unlimited" in item for item in line["sentences"])}  # fmt: skip


def _floors(lines: list[dict]) -> str:
    found = [item for item in map(floor, lines) if item is not None]
    row = lambda kind, own: [
        kind, len(own), sum(item["said"] for item in own), sum(item["beyond"] for item in own),
        sum(item["beyond"] and item["said"] for item in own), sum(item["median"] for item in own),
    ]  # fmt: skip
    heads = ["kind", "floors", "in a sentence", "contradicted: truth beyond the best end", "of these in a sentence",
             "truth beyond the middle"]  # fmt: skip
    return grid("Floors, against the truth at the largest size", heads, by_kind(found, row)) if found else ""


def regret(line: dict) -> dict | None:
    """True loss of the recommended model minus the best model's, at n rows: share of the variance, or of rows."""
    same = line.get("same_sets", {})
    if line.get("best") not in same:
        return None
    losses = {name: item["loss"] for name, item in same.items()}
    winner = min(losses, key=losses.__getitem__)
    part = line["guessing"] if line["task"] == "regression" else 1.0
    return {**{name: line[name] for name in ("table", "kind", "n", "draw", "best")}, "winner": winner,
            "regret": (losses[line["best"]] - losses[winner]) / part}  # fmt: skip


def _regret(lines: list[dict]) -> str:
    found = [item for item in map(regret, lines) if item is not None]

    def row(kind: str, own: list[dict]) -> list:
        values = np.array([item["regret"] for item in own])
        worst = own[int(values.argmax())]
        return [
            kind, len(own), share(int((values == 0).sum()), len(own)), f"{100 * np.median(values):.2f}",
            f"{100 * np.quantile(values, 0.9):.2f}", f"{100 * values.max():.2f}",
            f"{worst['table']} at {worst['n']}: {worst['best']}, not {worst['winner']}" if values.max() else "",
        ]  # fmt: skip

    heads = ["kind", "studies", "best named", "median", "90 %", "worst", "which"]
    title = "Regret at n rows, in per cent of the target's variance, or points of accuracy"
    return grid(title, heads, by_kind(found, row)) if found else ""


def _signals_missed(lines: list[dict]) -> str:
    """Studies that named no model, and how far the best one truly is from guessing."""
    rows = []
    for line in lines:
        if line["best"] is None and line.get("same_sets"):
            least = min(item["loss"] for item in line["same_sets"].values())
            guess = line["guessing"]
            rows.append(
                [line["table"], line["kind"], line["n"], f"{line['p']:.3g}", f"{100 * (1 - least / guess):.1f} %"]
            )
    heads = ["table", "kind", "rows", "p", "share of guessing's loss that the best model takes away there"]
    return grid("No model named", heads, rows) if rows else ""


def _misses(lines: list[dict]) -> str:
    end = lambda page: f"{page['value']:.4g} ({page['lower']:.4g} to {page['upper']:.4g})"
    side = lambda item: "optimistic" if item["optimistic"] else "pessimistic"
    rows = [
        [item["table"], item["kind"], item["n"], f"{item['factor']}x {item['unit']}", item["best"], end(item["page"]),
         f"{item['truth']:.4g} ± {item['se']:.2g}", side(item)]
        for item in checks(lines) if not item["hit"]
    ]  # fmt: skip
    rows += [
        [item["table"], item["kind"], item["n"], "rows needed", item["first"], end(item["page"]),
         f"{item['rows']:.4g}{ {'inside': '', 'above': ' or more', 'below': ' or less'}[item['where']]}",
         side(item)]
        for item in map(needed, lines) if item is not None and (item["optimistic"] or item["pessimistic"])
    ]  # fmt: skip
    rows += [
        [item["table"], item["kind"], item["n"], "floor", item["best"], end(item["page"]),
         f"{item['truth']:.4g} ± {item['se']:.2g} at {item['m']}", "pessimistic"]
        for item in map(floor, lines) if item is not None and item["beyond"]
    ]  # fmt: skip
    heads = ["table", "kind", "studied", "what", "model", "page", "truth", "page is too"]
    return grid("Every miss", heads, sorted(rows, key=lambda row: (row[3], row[0], row[2])))


def _median(values: Iterable[float]) -> float:
    found = [value for value in values if math.isfinite(value)]
    return float(np.median(found)) if found else math.nan


def signals(lines: list[dict]) -> str:
    """How often noise was said to have a signal."""
    told = defaultdict(list)
    for line in lines:
        told[line["noise"]] += line["p"]
    rows = []
    for noise, values in told.items():
        p = np.array(values)
        said = [share(int((p <= level + 1e-9).sum()), len(p)) for level in (0.01, 0.05)]
        rows.append([noise, len(p), *said])
    heads = ["noise", "tables", "p <= 0.01: said to have a signal", "p <= 0.05: left open, or worse"]
    return grid("False signals (1 % and 5 % are allowed)", heads, rows)


def generators(lines: list[dict]) -> str:
    """The named winner beside scikit-learn's, and sentences that a fit contradicts."""
    rows, contradictions = [], []
    for line in lines:
        errors = line["errors"]
        best = min(errors, key=errors.__getitem__)
        rows.append([
            line["generator"], f"{line['n']:,}", f"{line['used']:,}", line["best"], best, f"{100 * line['excess']:.2f}",
            "" if line["excess"] <= 0.01 else "no", len(line["contradictions"]), f"{line['seconds_study']:.0f}",
        ])  # fmt: skip
        contradictions += [[line["generator"], f"{line['n']:,}", *item] for item in line["contradictions"]]
    heads = ["generator", "rows", "used", "named", "best by scikit-learn", "named is worse by (% of variance, points)",
             "right", "contradicted", "seconds"]  # fmt: skip
    text = grid("Named winner, against scikit-learn on fresh rows", heads, rows)
    if contradictions:
        heads = ["generator", "rows", "sentence", "a fit that is better", "whose", "by"]
        text += "\n" + grid("Sentences that are contradicted", heads, contradictions)
    return text


def speed(lines: list[dict]) -> str:
    """Seconds and memory."""
    rows = [
        [f"{line['n']:,} x 30", line["model"], f"{line['used']:,}", f"{line['seconds']:.1f}", f"{line['gib']:.2f}"]
        for line in lines
    ]
    return grid("Speed", ["table", "model", "rows used", "seconds", "peak GiB"], rows)
