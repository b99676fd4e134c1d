"""What is printed stands there as it is: words in square brackets are not taken for rich's markup."""

import ast
import pathlib
import types

import pytest

import lemmata.interfaces.cli as cli
from lemmata.engine.claims import Source
from lemmata.interfaces.cli import _console, _verdicts

FILES = sorted(pathlib.Path(cli.__file__).parent.glob("*.py"))
TABLES = ("table", "_table(record)")


def printed(path):
    """The calls of a file that print on a console of rich."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "print":
            yield node


def marked_up(call):
    """Whether the words of a call have markup of their own."""
    parts = [part.value for part in ast.walk(call.args[0]) if isinstance(part, ast.Constant)] if call.args else []
    return any("[/" in str(part) for part in parts)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_words_but_our_own_are_read_as_markup(path):
    for call in printed(path):
        words = {each.arg: ast.unparse(each.value) for each in call.keywords}
        assert words.get("markup", "False") == words.get("highlight", "False") == "False", ast.unparse(call)
        own = not call.args or isinstance(call.args[0], ast.Constant) or ast.unparse(call.args[0]) in TABLES
        assert own or marked_up(call) or "markup" in words, f"{path.name}:{call.lineno} {ast.unparse(call)}"


def test_the_rule_sees_prints():
    assert sum(len(list(printed(path))) for path in FILES) > 60


@pytest.mark.parametrize("where", ["Lemma [a]", "Theorem 1 [/dim]", "p. [red]3[/]"])
def test_a_source_in_brackets_is_printed_whole(where, monkeypatch):
    source = Source("euclid", where, entry="@book{euclid, author={Euclid}, title={Elements}, year={1956}}")
    control = types.SimpleNamespace(status="refuted", violating=1.0, nearest=None, power=None)
    verdict = types.SimpleNamespace(
        status="supported", name="a.b", source=source, reason="[why]", vacuous=None, slack=None, judged=1, requested=1,
        level=1e-3, control=control, seconds=0.1, corners=(), places=(), notes=(), margin=None, bias=None, unseen=None,
    )  # fmt: skip
    monkeypatch.setattr(_verdicts, "_control", lambda control: "as it is")
    monkeypatch.setattr(_console.out, "width", 200)
    with _console.out.capture() as kept:
        _verdicts.show_verdict(verdict, short=True)
    assert where in kept.get()
    assert "[why]" in kept.get()
