"""What commands print of a small catalogue and of made verdicts, as it stands."""

import json
import types

import pytest
from typer.testing import CliRunner

from lemmata.interfaces.cli import _console, _family_report, _searched, _show, _verdicts, app
from lemmata.interfaces.cli._summary import print_summary
from lemmata.printable import clean
from tests import pinned
from tests.interfaces import frozen
from tests.interfaces.report.test_pinned import RECORDS, RUN, VERDICT

RUNNER = CliRunner()
NAMES = list(frozen.FROZEN["claims"])
LISTS = {
    "all": (), "words": ("adversarial", "training"), "two": ("backdoors", "--first", "2"),
    "every": ("kernel", "--first", "0"),
    "loose": ("--loose",), "weak": ("--verdict", "weak"), "refuted": ("--verdict", "refuted"),
    "verdict": ("--verdict", "Vacuous"),
    "kind": ("--kind", "own-result"), "subject": ("--subject", "approximation"), "runs": ("--runs", "kernels.gram"),
    "architecture": ("--architecture", "none"), "name": ("distilled_backdoors.conflict",), "number": ("Theorem 1",),
    "near": ("adversarial banana",), "typed": ("advresarial",), "nothing": ("Theorm 4.2",),
    "unknown": ("--kind", "lema"),
    "source": ("--source", "fu2024theoretical"), "part": ("--source", "wu2024robust", "theorem"),
    "no-source": ("--source", "fu2024"), "no-part": ("--source", "wu2024robust", "Theorm 3"),
    "beside": ("--source", "wu2024robust", "--loose"),
    "json": ("backdoors", "--json"), "source-json": ("--source", "wu2024robust", "--json"),
    "no-runs": ("--runs", "kernels.gramm"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(_console.out, "width", 160)
    monkeypatch.setattr(_console.err, "width", 160)
    frozen.freeze(monkeypatch)


def said(*words):
    done = RUNNER.invoke(app, list(words))
    return f"$ {' '.join(words)}\n{done.stdout}-- {done.exit_code}\n{done.stderr}"


@pytest.mark.parametrize("name", LISTS)
def test_a_list_is_as_it_was(name):
    pinned.check(__file__, f"list-{name}", said("list", *LISTS[name]))


def test_every_claim_is_shown_as_it_was():
    text = "\n".join(said("show", name) for name in NAMES)
    pinned.check(__file__, "show", text)


@pytest.mark.parametrize("words", ["adversaries.distilled_backdoors", "Abstract, closed form", "conflict_rate"])
def test_what_is_meant_by_a_name_is_shown(words):
    found = said("show", words)
    headings = [line for line in found.splitlines() if line.endswith("─") or line.startswith(("--", "Error", "Try"))]
    pinned.check(__file__, f"show-{words.replace(' ', '-')}", "\n".join(headings))


def test_the_record_of_a_claim_is_its_entry():
    (name, *_) = NAMES
    found = json.loads(RUNNER.invoke(app, ["show", name, "--json"]).stdout)
    pinned.check(__file__, "show-json", json.dumps(found, indent=1, sort_keys=True))


CONTROL = types.SimpleNamespace(status="refuted", violating=0.75, farthest=2.5)
MADE = types.SimpleNamespace(
    status="supported", name="a.b", source="someone, Theorem 1", reason="as it is", vacuous=0.25,
    slack=(0.5, 1.25, 8.0), judged=17,
    requested=20, level=1e-3, control=CONTROL, seconds=61.25, setting={"n": 4, "width": 0.5}, seed=3,
    worst=7, corners=[types.SimpleNamespace(status="inconclusive", setting={"n": 1}),
                      types.SimpleNamespace(status="refuted", setting={})],
)  # fmt: skip
VERDICTS = {
    "whole": MADE,
    "refuted": types.SimpleNamespace(**vars(MADE) | {"status": "refuted", "vacuous": None, "slack": None}),
    "bare": types.SimpleNamespace(**vars(MADE) | {
        "status": "inconclusive", "corners": [], "setting": {},
        "control": types.SimpleNamespace(status="supported", violating=None, farthest=None)}),
}  # fmt: skip


@pytest.mark.parametrize("short", [False, True])
@pytest.mark.parametrize("name", VERDICTS)
def test_a_verdict_is_printed_as_it_was(name, short, monkeypatch):
    monkeypatch.setattr("lemmata.engine.claims.advice_on", lambda verdict: f"advice on {verdict.name}")
    with _console.out.capture() as kept:
        _verdicts.show_verdict(VERDICTS[name], short)
    pinned.check(__file__, f"verdict-{name}{'-short' * short}", kept.get())


def test_a_verdict_that_names_its_own_remedy_has_no_other_advice(monkeypatch):
    from lemmata.engine.claims import UNSEEN

    monkeypatch.setattr("lemmata.engine.claims.advice_on", lambda verdict: "advice of the command")
    for reason, advised in ((f"{UNSEEN}: more", False), (f"more {UNSEEN}", True)):
        with _console.out.capture() as kept:
            _verdicts.show_verdict(types.SimpleNamespace(**vars(MADE) | {"reason": reason}), short=False)
        assert ("advice of the command" in kept.get()) == advised


@pytest.mark.parametrize("name", ["classified", "measured", "odd", "noise", "empty"])
@pytest.mark.parametrize("saves", [False, True])
def test_a_summary_of_a_study_is_as_it_was(name, saves):
    with _console.out.capture() as kept:
        print_summary(_console.out, clean(RECORDS[name]), saves)
    pinned.check(__file__, f"summary-{name}{'-saves' * saves}", kept.get())


def test_the_table_of_a_run_is_as_it_was():
    rows = [{**row, "p_value": 0.0123, "judged": 17} for row in RUN["rows"]]
    record = {**RUN, "rows": rows, "left": [f"a.{k}" for k in range(7)]}
    lines = [*_family_report.table_of(record), _family_report.level_words(record),
             *_family_report.table_of({**record, "rows": [], "left": ["a.b"], "notes": []}),
             _family_report.level_words({**record, "method": "e-values"})]  # fmt: skip
    changes = [{**RUN["changes"][0], "why": ()}]
    lines += _family_report.table_of({**record, "rows": rows[:1], "changes": changes, "left": []})
    pinned.check(__file__, "table", "\n".join(lines))
    assert VERDICT["name"] in lines[1]


def of(name, status, expected="supported"):
    return (types.SimpleNamespace(name=name, expected=expected), types.SimpleNamespace(name=name, status=status))


@pytest.mark.parametrize(
    ("found", "code"),
    [
        ([], 0), ([of("a", "supported")], 0), ([of("a", "refuted")], 1), ([of("a", "supported", "refuted")], 1),
        ([of("a", "inconclusive"), of("b", "refuted")], 3), ([of("a", "supported"), of("b", "vacuous")], 5),
        ([of("a", "failed", "failed"), of("b", "vacuous")], 4), ([of("a", "outside"), of("b", "refuted")], 6),
    ],
)  # fmt: skip
def test_the_exit_code_of_several_claims_is_the_worst_that_was_not_expected(found, code):
    expected = [types.SimpleNamespace(name=claim.name, expected=str(claim.expected)) for claim, _ in found]
    statuses = {str(claim.expected): claim.expected for claim in expected}
    verdicts = [types.SimpleNamespace(name=v.name, status=statuses.get(v.status, v.status)) for _, v in found]
    assert _verdicts.worst(expected, verdicts) == code
    unjudged = types.SimpleNamespace(name="unjudged", expected="supported")
    assert _verdicts.worst([*expected, unjudged], verdicts) == (4 if code == 4 else max(code, 3))


ROW = {"name": "part.section.a_rate", "locators": ["Theorem 4.2", "(58)"]}


@pytest.mark.parametrize(
    ("part", "named", "numbered"),
    [
        ("section.a", True, False), ("a_rate", True, False), (" Section.A ", True, False), ("rate", False, False),
        ("section", False, False), ("b_rate", False, False), ("theorem 4.2", False, True), ("(58)", False, True),
        ("(58a)", False, False), ("Theorem 4", False, False), ("", False, False),
    ],
)  # fmt: skip
def test_a_part_of_a_name_has_a_dot_or_an_underscore_and_a_number_is_whole(part, named, numbered):
    assert _searched._names(ROW, part) == named
    assert _searched.names_statement(ROW, part) == numbered
    assert _searched.names_statement({**ROW, "locators": ["(58a)"]}, "(58)")
    assert _searched.names_statement({**ROW, "locators": ["Theorem 4.2, second part"]}, "Theorem 4.2")


def test_readings_are_shown_with_and_without_their_claims(monkeypatch):
    passage = {"file": "a.tex", "first": 3, "after": 17, "says": "words", "formula": "x", "right_if": ""}
    own = [
        {"verdict": "false", "words": "as printed", "claim": "a.b"},
        {"verdict": "true", "words": "kind", "claim": ""},
    ]
    with _console.out.capture() as kept:
        _show._show_passage(passage, own)
        _show._show_passage(None, [])
        _show._show_passage({**passage, "formula": "", "right_if": "y = 0"}, [])
    pinned.check(__file__, "readings", kept.get())
