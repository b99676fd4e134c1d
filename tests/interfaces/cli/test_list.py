"""`lemmata list WORDS`: what is printed, in which order, and what is said where not all words are found."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from lemmata.engine.catalogue import catalogue, rows
from lemmata.interfaces.cli import _console, app
from lemmata.interfaces.cli._judging import named_claims
from lemmata.interfaces.search import ask, claim_shelf

RUNNER = CliRunner()


def listed(*arguments):
    result = RUNNER.invoke(app, ["list", *arguments])
    assert result.exit_code == 0, result.output
    return result


@pytest.mark.parametrize("words", [["neural tangent kernel"], ["neural", "tangent", "kernel"], ["NTK"]])
def test_words_find_claims_whether_quoted_or_not_and_the_best_is_first(words):
    names = [row["name"] for row in json.loads(listed("--json", *words).stdout)]
    known = rows()
    assert names == [known[place]["name"] for place in ask(claim_shelf(known), " ".join(words)).hits]
    assert len(names) > 50


def test_as_many_as_asked_are_printed_and_all_are_counted():
    said = listed("neural tangent kernel", "--first", "3").stdout
    assert said.count("  supported") + said.count("  refuted") + said.count("  vacuous") >= 3
    number = len(json.loads(listed("--json", "neural tangent kernel").stdout))
    assert f"The best 3 claims of {number}; `--first 0` prints all." in said
    assert f"{number} claims." in listed("neural tangent kernel", "--first", "0").stdout


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "  tightness 0.25"),
        ({"ratio": 0.0625}, "  loose 0.062"),
        ({"ratio": None}, ""),
        ({"refuted": "seed 0, problem 3"}, ""),
    ],
    ids=["tight", "loose", "no ratio", "refuted"],
)
def test_the_tightness_that_a_search_found_stands_beside_its_claim_and_no_other(monkeypatch, changes, said):
    found = {"fingerprint": "0", "ratio": 0.25, "refuted": "", "trials": 64, **changes}
    loose = found["ratio"] == 0.0625
    made = [{**row, "search": None, "loose": False} for row in rows()[:3]]
    made[1] |= {"search": found, "loose": loose}
    monkeypatch.setattr("lemmata.engine.catalogue.rows", lambda: made)
    monkeypatch.setattr(_console.out, "width", 400)
    lines = [line for line in listed().stdout.splitlines() if line.startswith(tuple(row["name"] for row in made))]
    pairs = zip(lines, made, strict=True)
    ends = [line.partition(f"  {row['status']}")[2].removeprefix(", weak") for line, row in pairs]
    assert ends == ["", said, ""]


def test_filters_hold_beside_words():
    found = json.loads(listed("--json", "attention", "--verdict", "refuted").stdout)
    assert found
    assert {row["status"] for row in found} == {"refuted"}


def test_without_all_words_the_counts_are_told_and_the_nearest_are_listed():
    result = listed("tangent kernel banana")
    assert "No claim contains all words; " in result.stderr
    assert "have 'tangent kernel', 0 have 'banana'. The nearest claims are:" in " ".join(result.stderr.split())
    assert "5 claims." in result.stdout


def test_a_typing_error_is_read_as_the_nearest_word_and_said():
    result = listed("hoefding")
    assert "hoeffding" in result.stdout
    assert "No claim contains 'hoefding'" in result.stderr


def test_a_part_of_a_name_and_a_number_of_a_statement_are_taken_as_they_are():
    found = json.loads(listed("--json", "approximation.ramps").stdout)
    assert found
    assert all("approximation.ramps" in row["name"] for row in found)
    found = json.loads(listed("--json", "Theorem 4.2").stdout)
    assert found
    assert all(any(place.startswith("Theorem 4.2") for place in row["locators"]) for row in found)


def test_words_need_no_jax():
    catalogue()  # reads the code where it has changed, which takes JAX, and keeps what it says
    program = (
        "import sys; from lemmata.interfaces.cli import app; app(['list', 'tangant'], standalone_mode=False); "
        "print({'jax', 'scipy', 'altair'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "set()"


def test_near_misses_are_told_beside_json_too():
    said = listed("--json", "grokking banana")
    assert json.loads(said.stdout)
    assert "No claim contains all words" in " ".join(said.stderr.split())
    assert listed("--json", "grokking").stderr == ""


@pytest.mark.parametrize(
    "options",
    [["--verdict", "refuted"], ["--kind", "theorem"], ["--tool", "gram"], ["--loose"], ["--kind", "lemma", "--loose"]],
    ids=" ".join,
)
def test_options_that_choose_claims_are_refused_beside_a_source_and_named(options):
    result = RUNNER.invoke(app, ["list", "--source", "gu2024softmax", *options])
    assert result.exit_code == 2
    assert not result.stdout
    said = " ".join(result.stderr.split())
    given = ", ".join(word for word in options if word.startswith("--"))
    assert f"--source with {given}" in said
    assert "use --source alone" in said


def test_a_tag_means_its_claim_and_a_withdrawn_tag_is_named():
    known = next(row for row in rows() if row["tag"] == "0358")
    assert [row["name"] for row in json.loads(listed("0358", "--json").stdout)] == [known["name"]]
    shown = RUNNER.invoke(app, ["show", "0358", "--json"])
    assert json.loads(shown.stdout)["name"] == known["name"]
    assert [claim.name for claim in named_claims(["0358", known["name"]])] == [known["name"]]
    for command in ("list", "show", "verify"):
        result = RUNNER.invoke(app, [command, "0001"])
        assert (result.exit_code, "withdrawn claim LinearAsPrinted" in result.output) == (2, True), command
