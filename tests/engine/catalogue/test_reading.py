"""How code is read for a fingerprint: which words are no prose, and whose methods other packages call."""

import ast

import pytest

from lemmata.engine.catalogue._compared import _strings, compared
from lemmata.engine.catalogue._fingerprint import _is_called_elsewhere
from lemmata.engine.catalogue._modules import Node


def first(text):
    """The first statement's expression, or pattern."""
    statement = ast.parse(text).body[0]
    if isinstance(statement, ast.Match):
        return statement.cases[0].pattern
    assert isinstance(statement, ast.Expr)
    return statement.value


def test_strings_are_all_strings_of_an_expression_and_nothing_else():
    found = list(_strings(first("f('a', b'bytes', 3, [x, 'b c', {'d': None}], f'{y} e')")))
    assert sorted(found) == [" e", "a", "b c", "d"]
    assert list(_strings(first("f(a, 1, None)"))) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x == 'a b'", ["a b"]), ("'a b' in x", ["a b"]), ("x in ('a b', 'c d')", ["a b", "c d"]),
        ("x['a b']", ["a b"]),
        ("{'a b': 'c d', **more}", ["a b"]), ("match x:\n  case 'a b': pass", ["a b"]), ("', '.join", [", "]),
        ("Choice('a b', ('c d', 'e f'), 'said of it')", ["a b", "c d", "e f"]),
        ("table.get('a b', 'c d', 'e f')", ["a b", "c d"]),
        ("get('a b')", ["a b"]), ("say('a b')", []), ("x + 'a b'", []), ("x.y", []),
    ],
)  # fmt: skip
def test_words_that_code_compares_or_offers(text, words):
    assert sorted(compared(first(text))) == words


@pytest.mark.parametrize(
    ("module", "name", "called"),
    [
        ("lemmata.workers._processes", "Processes", True),  # concurrent.futures calls submit
        ("lemmata.interfaces.cli._console", "_Own", True),
        ("lemmata.interfaces.cli._console", "_Results", True),  # by way of one of ours
        ("lemmata.estimators._adversarial", "AdversarialKernelClassifier", True),
        ("lemmata.workers._processes", "_Child", False),  # no base
        ("lemmata.engine.catalogue._fingerprint", "Fingerprint", False),  # a dataclass
        ("lemmata.engine.claims._hypothesis", "Hypothesis", False),  # equinox.Module
        ("lemmata.errors", "SettingError", False),  # an exception by way of ours
        ("lemmata.engine.claims._claim", "Status", False),  # enum.StrEnum
    ],
)
def test_whose_methods_other_packages_call(module, name, called):
    assert _is_called_elsewhere(Node(module, name)) is called
