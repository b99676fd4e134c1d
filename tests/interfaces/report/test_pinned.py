"""Every page of every example as it stands: its words and tags, and the specification of each of its pictures."""

import dataclasses
import json
import math
import re
import types

import pytest

from lemmata.interfaces import report
from lemmata.interfaces.report import _model_card, page_of, page_text
from lemmata.interfaces.report._families import families_fragment
from lemmata.interfaces.report._model import model_fragment
from lemmata.interfaces.report._verified import verified_page
from lemmata.workflows.records.studies import Point, Residual, Spectral
from tests import pinned
from tests.interfaces.report import example as studies
from tests.interfaces.report import test_families, test_model_page

RICH = test_model_page.example(15, **test_model_page.tables())


LONG = Spectral([1, 2, 5, 10, 20, 50, 100], [9.0, 8.0, 5.0, 3.0, 1.0, 0.5, 0.01], [0.1, 0.2, 0.4, 0.5, 0.8, 0.9, 1.0],
                17.5, 3.25)  # fmt: skip


def odd():
    """A study whose parts are at their ends: one row, no interval, a level beyond the unit, prices, no titles."""
    record = studies.measured()
    first, second, *others = record.models
    models = [
        dataclasses.replace(first, points=[], band=[], learns=False, seconds=0.004, trained=0.5),
        dataclasses.replace(second, points=[Point(1.0, 3.0, math.nan, 0)], seconds=83.2, theory=[], spectrum=LONG),
        *others,
    ]
    answers = dataclasses.replace(record.answers, near=["forest"])
    rows = [Residual(number, 1.0 * number, 2.5, 4.0) for number in range(15)]
    return dataclasses.replace(record, models=models, answers=answers, residuals=rows, interrupted=True)


RECORDS = {
    "classified": studies.classified(), "measured": studies.measured(), "noise": studies.noise(),
    "empty": studies.empty(), "odd": odd(), "families": test_families.example(), "model": RICH,
    "model-failed": test_model_page.failed(),
}  # fmt: skip
PAIRS = {"studies": ("classified", "odd"), "other": ("noise", "measured"), "models": ("model", "model-failed")}
FRAGMENTS = {"odd": page_text, "classified": page_text, "families": families_fragment, "model": model_fragment,
             "model-failed": model_fragment}  # fmt: skip


@pytest.fixture(autouse=True)
def specifications(monkeypatch):
    """Pictures are not drawn, which takes seconds: their specifications are kept; so are not styles and scripts."""
    found = {}

    def drawn(spec):
        found[f"picture {len(found)}"] = spec
        return "<svg></svg>"

    monkeypatch.setattr("lemmata.interfaces.report._page.svg_text", drawn)
    monkeypatch.setattr("lemmata.interfaces.report._page.bundle", lambda: "")
    return found


def plain(text):
    """A page without its styles and scripts, a tag a line."""
    text = re.sub(r"(?s)<(style|script)\b.*?</\1>", "", text)
    text = re.sub(r"'sha256-[^']*'", "'sha256'", text)
    return "\n".join(line for line in re.sub(r"(?=<)", "\n", text).splitlines() if line.strip())


def told(text, specifications):
    config = ("config", "$schema")
    specs = {name: {key: part for key, part in spec.items() if key not in config}
             for name, spec in specifications.items()}  # fmt: skip
    return plain(text) + "\n" + json.dumps(specs, ensure_ascii=False, sort_keys=True).replace("}, ", "},\n")


@pytest.mark.parametrize("name", RECORDS)
def test_a_page_is_as_it_was(name, specifications):
    pinned.check(__file__, name, told(page_of(RECORDS[name]), specifications))


@pytest.mark.parametrize("name", PAIRS)
def test_a_page_of_two_records_is_as_it_was(name, specifications):
    first, second = (RECORDS[each] for each in PAIRS[name])
    pinned.check(__file__, f"two-{name}", told(page_of(first, second), specifications))


@pytest.mark.parametrize("name", FRAGMENTS)
def test_a_notebook_shows_what_it_did(name):
    pinned.check(__file__, f"notebook-{name}", plain(FRAGMENTS[name](RECORDS[name])))


VERDICT = {"name": "a.b", "seconds": 61.5, "source": "someone, Theorem 1", "title": "A", "known": False, "seed": 3,
           "setting": {"n": 4, "width": 0.5}, "expected": "supported", "status": "supported", "reason": "as it is",
           "as_expected": True}  # fmt: skip
RUN = {
    "run": 12, "ledger": "/tmp/ledger.sqlite", "command": "lemmata judge --all", "level": 1e-3, "method": "Holm",
    "claims": 6, "seed": 0, "seconds": 3601.2, "minutes": 60.0, "interrupted": False, "judged": 4, "changes": [
        {"claim": "a.c", "before": "supported", "after": "refuted", "why": ("code", "seed")}], "left": ["a.d", "c.d"],
    "notes": ["x.y, seed 0: not recorded; the disk is full"], "sentence": "Family-wise level 0.001.", "rows": [
        VERDICT, VERDICT | {"name": "a.c", "status": "refuted", "as_expected": False, "reason": "word " * 100},
        VERDICT | {"name": "b.c", "status": "failed", "as_expected": False, "known": True, "reason": "r" * 240},
        VERDICT | {"name": "b.d", "status": "inconclusive", "expected": "inconclusive", "setting": {}}],
}  # fmt: skip


@pytest.mark.parametrize("name", ["verdicts", "one", "cut-short"])
def test_the_page_of_verdicts_is_as_it_was(name):
    changes = {"verdicts": {}, "one": {"rows": [VERDICT], "judged": 1, "claims": 1, "left": [], "changes": []},
               "cut-short": {"interrupted": True, "notes": [], "left": ["a.b"] * 50,
                             "rows": [VERDICT] * 9}}  # fmt: skip
    pinned.check(__file__, f"verified-{name}", plain(verified_page(RUN | changes[name])))


def test_pictures_of_a_run_in_context_are_as_they_were():
    path = {"layers": [1, 10, 100], "error": [1.0, 0.5, 0.25], "numbers": [3, 7], "targets": [0.5, -0.25],
            "rho": [[0.0, 0.1], [0.2, 0.3], [0.4, -0.5]], "scores": [[0.0, 0.1], [0.2, -0.75], [0.4, 0.5]]}  # fmt: skip
    run = {"paths": {"with momentum": path, "plain": {**path, "error": [2.0, 1.5, 0.5], "layers": [1, 10, 90]}},
           "rows": [{"model": "transformer, plain", "error": 0.5}, {"model": "Lasso", "error": 0.125}]}  # fmt: skip
    charts = {
        "errors": report.errors_picture(run), "coefficients": report.coefficients_picture(run, "plain"),
        "attention": report.attention_picture(run, "with momentum"),
    }  # fmt: skip
    pinned.check(__file__, "in-context", json.dumps({k: v.to_dict() for k, v in charts.items()}, indent=1))


FINAL = types.SimpleNamespace(
    name="rbf", labels=["rose", "tulip"], inputs=["height", "colour", "lost"], positional=False, rows=1400, why={},
    code="import sklearn\n\nprint(1)\n", model=types.SimpleNamespace(predict_proba=None),
)  # fmt: skip
FINALS = {
    "classes": (FINAL, "classified", ["sklearn.A"]),
    "many": (types.SimpleNamespace(**vars(FINAL) | {"labels": [str(k) for k in range(23)], "name": "forest",
                                                    "model": object()}), "classified", []),
    "numbers": (types.SimpleNamespace(**vars(FINAL) | {
        "labels": None, "positional": True, "code": "import lemmata", "model": object(),
        "why": {"a": "dates", "b": "dates", "c": "texts"}}), "noise", ["lemmata.B", "sklearn.A"]),
}  # fmt: skip


@pytest.mark.parametrize("name", FINALS)
def test_a_model_card_is_as_it_was(name, monkeypatch):
    monkeypatch.setattr(_model_card, "_versions", lambda: "these")
    monkeypatch.setattr(_model_card, "__version__", "0")
    final, record, trusted = FINALS[name]
    pinned.check(__file__, f"card-{name}", report.model_card(final, RECORDS[record], "model.skops", trusted))


def test_names_and_values_do_not_break_the_table_of_a_model_card():
    names = ["a|b", "two\nlines", "tick`s", "\r\n|"]
    columns = [dataclasses.replace(RECORDS["classified"].data.columns[0], name=own, range="x|y\n*z") for own in names]
    record = RECORDS["classified"]
    record = dataclasses.replace(record, data=dataclasses.replace(record.data, columns=columns, target="t\nu"))
    final = types.SimpleNamespace(**vars(FINAL) | {"inputs": names})
    lines = report.model_card(final, record, "model.skops", []).splitlines()
    rows = [line for line in lines if line.startswith("| `")]
    assert lines[0].endswith(r"for `t\nu`")
    assert [re.split(r"(?<!\\)\|", line)[1].strip() for line in rows] == [
        r"`a\|b`", r"`two\nlines`", "`` tick`s ``", r"`\r\n\|`",
    ]  # fmt: skip
    assert all(re.split(r"(?<!\\)\|", line)[3] == r" x\|y \*z " for line in rows)
