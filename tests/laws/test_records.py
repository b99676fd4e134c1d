"""Laws of the records of tools: each names claims of the catalogue, which `lemmata show` prints."""

import ast
import dataclasses
import importlib
import inspect
import pathlib

import pytest
from typer.testing import CliRunner

import lemmata
from lemmata.engine.catalogue import entries
from lemmata.interfaces.cli import app

ROOT = pathlib.Path(lemmata.__file__).parent
FIELDS = ("claims", "claim")
SECTIONS = {tuple(name.split(".")[:2]) for name in entries()}
SUBJECTS = sorted({subject for subject, _ in SECTIONS})


def classes(subject):
    """The public classes of a subject that are records: they have conditions, or name claims, and are not parts of one.

    A part is a class that a record names in the annotation of a field: its claims are those of the whole.
    """
    module = importlib.import_module(f"lemmata.subjects.{subject}")
    public = [own for name, own in vars(module).items() if not name.startswith("_") and inspect.isclass(own)]
    fields = {own: {field.name for field in dataclasses.fields(own)} for own in public if dataclasses.is_dataclass(own)}
    whole = " ".join(
        str(field.type) for own in fields for field in dataclasses.fields(own) if fields[own] & set(FIELDS)
    )
    part = lambda own: own.__name__ in whole
    return {own: names for own, names in fields.items()
            if names & set(FIELDS) or (names & {"conditions", "hypotheses"} and not part(own))}  # fmt: skip


def named(text):
    """The strings of a program that have the form of a claim of some section: subject.section.claim."""
    tree = ast.parse(text)
    docs = {own.body[0].value for own in ast.walk(tree) if isinstance(own, ast.Module | ast.ClassDef | ast.FunctionDef)
            and own.body and isinstance(own.body[0], ast.Expr)}  # fmt: skip
    strings = [own.value for own in ast.walk(tree)
               if isinstance(own, ast.Constant) and isinstance(own.value, str) and own not in docs]  # fmt: skip
    return {text for text in strings if text.count(".") == 2 and tuple(text.split(".")[:2]) in SECTIONS}


NAMED = {name: path for path in sorted(ROOT.rglob("*.py")) for name in named(path.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_every_record_with_conditions_names_its_claims(subject):
    for own, names in classes(subject).items():
        assert names & set(FIELDS), f"{own.__name__} names no claim"
        for field in dataclasses.fields(own):
            if field.name in FIELDS and field.default is not dataclasses.MISSING:
                given = (field.default,) if isinstance(field.default, str) else field.default
                assert given, f"{own.__name__} names no claim"
                assert set(given) <= set(entries()), f"{own.__name__}: {set(given) - set(entries())}"


@pytest.mark.parametrize("subject", SUBJECTS)
def test_no_section_has_the_name_of_a_tool(subject):
    tools = {name for name, own in vars(importlib.import_module(f"lemmata.subjects.{subject}")).items()
             if callable(own) and not inspect.ismodule(own)}  # fmt: skip
    assert not tools & {section for own, section in SECTIONS if own == subject}


def test_every_claim_that_a_program_names_is_in_the_catalogue():
    assert len(NAMED) > 150
    wrong = {name: path.name for name, path in NAMED.items() if name not in entries()}
    assert wrong == {}


def test_a_name_that_is_in_no_catalogue_is_found():
    assert named('"""tangent.linearisation.not_this"""\nx = ["queries.moments.nothing", "no.such.thing"]') <= {
        "queries.moments.nothing"
    }
    subject, section = sorted(SECTIONS)[0]
    assert named(f'x = "{subject}.{section}.nothing"') == {f"{subject}.{section}.nothing"}


@pytest.mark.parametrize("subject", sorted({name.split(".")[0] for name in NAMED}))
def test_show_prints_every_claim_that_a_record_names(subject):
    for name in sorted(own for own in NAMED if own.split(".")[0] == subject):
        shown = CliRunner().invoke(app, ["show", name])
        assert shown.exit_code == 0, shown.output
        for said in (name, "statement", "control", "settings"):
            assert said in shown.output
