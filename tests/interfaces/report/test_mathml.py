"""Formulas are set where they are read without doubt: nothing is lost, nothing is added, everything is escaped."""

import re
from xml.etree import ElementTree

import pytest
from markupsafe import escape

from lemmata.engine.catalogue import entries
from lemmata.interfaces.report._mathml import displayed, formula
from lemmata.interfaces.report._notation import GREEK, LARGE, SIGNS, SUPERSCRIPTS
from lemmata.interfaces.report._prose import prose
from lemmata.interfaces.report._views import parts

CHILDREN = {"msup": 2, "msub": 2, "msubsup": 3, "mover": 2, "mfrac": 2, "msqrt": 1, "math": 1}
UNSET = re.compile(r"sqrt(?=\()|ceil(?=\()|floor(?=\()|[\s(){}\[\]|<>/_^√,]")


def tree(markup):
    return ElementTree.fromstring(str(markup))


def shape(element):
    """The tree in short: rows are dropped, leaves are their text."""
    if element.tag == "mspace":
        return None
    inside = [found for child in element if (found := shape(child)) is not None]
    if element.tag in ("mrow", "math"):
        return inside[0] if len(inside) == 1 else inside
    return [element.tag, *inside] if inside else element.text


def symbols(element):
    """Letters, digits and signs in the order in which they stand."""
    found = "".join(element.itertext()).replace("⌈", "").replace("⌊", "").replace("⌉", "").replace("⌋", "")
    return re.sub(r"[\s(){}\[\]|⟨⟩/,^]", "", found)


def written(text):
    """The same of the source."""
    text = text.translate(SUPERSCRIPTS).replace("<=", "≤").replace(">=", "≥")
    for sign in ("->", "<-", "<<", ">>", "!=", ":=", "..."):
        text = text.replace(sign, SIGNS[sign])
    relation = re.sub(r"(?<=\s)<(?=\s)|(?<={\w)<", "‹", re.sub(r"(?<=\s)>(?=\s)|(?<=[{(])>", "›", text))
    for word, sign in sorted({**GREEK, **LARGE}.items(), key=lambda item: -len(item[0])):
        relation = re.sub(rf"(?<![^\W\d_]){word}(?![^\W\d_⁰-⁹²³¹])", sign, relation)
    left = UNSET.sub("", relation).replace("‹", "<").replace("›", ">")
    return left.replace("-", "−").replace("~", "∼").replace("'", "′")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x_i²", ["msubsup", "x", "i", "2"]),
        ("lambda_max", ["msub", "λ", "max"]),
        ("[K]_ii", ["msub", ["[", "K", "]"], ["i", "i"]]),
        ("m^(-1/2)", ["msup", "m", ["−", ["1", "/", "2"]]]),
        ("x_(i)", ["msub", "x", ["(", "i", ")"]]),
        ("f_(-i)(x_i)", [["msub", "f", ["−", "i"]], ["(", ["msub", "x", "i"], ")"]]),
        ("2 M² kappa² / ridge", ["mfrac", ["2", ["msup", "M", "2"], ["msup", "κ", "2"]], "ridge"]),
        ("sigma² d/(n - d - 1)", [["msup", "σ", "2"], ["mfrac", "d", ["n", "−", "d", "−", "1"]]]),
        ("exp(-|x - y|²/(2s²))", ["exp", ["(", ["−", [["msup", ["|", ["x", "−", "y"], "|"], "2"], "/",
                                              ["(", ["2", ["msup", "s", "2"]], ")"]]], ")"]]),
        ("<x, y>/d", ["mfrac", ["⟨", ["x", ",", "y"], "⟩"], "d"]),
        ("B sqrt(tr K) / n", ["mfrac", ["B", ["msqrt", ["tr", "K"]]], "n"]),
        ("1 / 2 m", [["1", "/", "2"], "m"]),
        ("log n / m", ["log", ["n", "/", "m"]]),
        ("|a| |b|", [["|", "a", "|"], ["|", "b", "|"]]),
        ("|f(x) - |y||", ["|", [["f", ["(", "x", ")"]], "−", ["|", "y", "|"]], "|"]),
        ("rho*_t", ["msubsup", "ρ", "t", "*"]),
        ("x < y", ["x", "<", "y"]),
        ("test loss <= R", [["test", "loss"], "≤", "R"]),
        ("E[x(0) | y]", ["E", ["[", [["x", ["(", "0", ")"]], "|", "y"], "]"]]),
        ("√d", ["msqrt", "d"]),
        ("NS(eta)", ["NS", ["(", "η", ")"]]),
        ("KL(p || q)", ["KL", ["(", ["p", "||", "q"], ")"]]),
        ("||x||", ["||", "x", "||"]),
        ("2||x|| |y|", ["2", ["||", "x", "||"], ["|", "y", "|"]]),
        ("3/2", ["mfrac", "3", "2"]),
        ("x1", ["msub", "x", "1"]),
        ("log2(n)", [["msub", "log", "2"], ["(", "n", ")"]]),
        ("rho^", ["mover", "ρ", "^"]),
        ("|y^|²", ["msup", ["|", ["mover", "y", "^"], "|"], "2"]),
        ("S~_ir", ["msub", ["mover", "S", "∼"], ["i", "r"]]),
        ("f^(S)", [["mover", "f", "^"], ["(", "S", ")"]]),
        ("f'²", ["msup", "f", ["′", "2"]]),
        ("H*^-1", ["msup", "H", ["*", ["−", "1"]]]),
        ("F*(t, x_i)", [["msup", "F", "*"], ["(", ["t", ",", ["msub", "x", "i"]], ")"]]),
        ("n! / m", ["mfrac", ["n", "!"], "m"]),
        ("4^-(m+1)", ["msup", "4", ["−", ["(", ["m", "+", "1"], ")"]]]),
        ("r^|S|", ["msup", "r", ["|", "S", "|"]]),
        ("10^4", ["msup", "10", "4"]),
        ("{-1, 1}^d", ["msup", ["{", ["−", "1", ",", "1"], "}"], "d"]),
        ("sum_{i<d} x_i", [["msub", "∑", ["i", "<", "d"]], ["msub", "x", "i"]]),
        ("K_(>p)", ["msub", "K", [">", "p"]]),
        ("a_i,j", ["msub", "a", ["i", ",", "j"]]),
        ("K(., x)", ["K", ["(", [".", ",", "x"], ")"]]),
        ("∫_0^t f(s)", [["msubsup", "∫", "0", "t"], ["f", ["(", "s", ")"]]]),
        ("sup over x of f(x)", ["sup", "over", "x", "of", ["f", ["(", "x", ")"]]]),
    ],
)  # fmt: skip
def test_what_is_written_is_set(text, expected):
    assert shape(tree(formula(text, display=True))) == expected


@pytest.mark.parametrize(
    "text",
    ["n^1/2", "n^-t/2", "e^2n", "n^o(1)", "x12", "x1y", "n x d", "|a |b| c", "x +", "= = x", "f()", "(x", "x)", "a/b/c",
     "x_i_j", "x^2^3", "N // 2", "W ~V", "2^ rho", "N*(n - 1)", "E x | y", "|x | y|", "a/ b", "x - -y`", "x_ i",
     "a || b", "trees", "100 trees", ""],
)  # fmt: skip
def test_what_can_be_read_in_two_ways_stays_text(text):
    assert formula(text, display=True) is None


def test_slashes_stay_in_a_sentence_and_words_are_no_formula():
    assert shape(tree(formula("1/n"))) == ["1", "/", "n"]
    assert formula("train loss / n") is None
    assert formula("3/2") is None


@pytest.mark.parametrize(
    ("text", "set_"),
    [
        ("at most n - 1 rows of a table.", ["n - 1"]),
        ("A kernel K and I", ["K"]),
        ("For gamma = d/n > 1 it is sigma² (of the noise), that is, |f|_H <= B",
         ["gamma = d/n > 1", "sigma²", "|f|_H <= B"]),
        ("train on n = N // 2 of N rows (see x_i).", ["N", "x_i"]),
        ("with the n x n matrix, 41 % above 0.001", []),
        ("the function `gram_of` of my_model.py, 1.5 or 2", []),
        ("the ball {f: |f|_H <= B}, min(|f(x) - y|, b) and (1 - q)^t <u_i, y>.",
         ["{f: |f|_H <= B}", "min(|f(x) - y|, b)", "(1 - q)^t <u_i, y>"]),
        ("matrices K + s I, with s", ["K + s I", "s"]),
        ("a gamma regression, the beta distribution, with gamma > 0", ["gamma > 0"]),
        ("Chapter V, Appendix B and a vector V", ["V"]),
        ("on {-1, 1}^d, NS(eta) is the share of signs", ["{-1, 1}^d", "NS(eta)"]),
        ("x_1 + ... + x_d in [0, 1] and ceil(n/2) rows", ["x_1 + ... + x_d", "ceil(n/2)"]),
        ("the norm L2(nu), at most 10^8 steps, and W1 (in Section B.2)", ["L2(nu)", "10^8", "W1"]),
    ],
)  # fmt: skip
def test_formulas_in_sentences(text, set_):
    found = tree(f"<p>{prose(text)}</p>")
    assert [element.get("alttext") for element in found.iter("math")] == set_
    for element in found.iter("math"):
        whole, tail = element.get("alttext"), element.tail
        element.clear()
        element.text, element.tail = whole, tail
    assert "".join(found.itertext()).replace("≤", "<=") == text


def test_text_is_escaped():
    hostile = '<script>alert(1)</script> & "x_i" <b>'
    assert prose(hostile) == escape(hostile)
    assert 'alttext="a &lt; b"' in str(formula("a < b"))
    assert formula('x_i" onload="alert(1)') is None


def test_nothing_of_the_catalogue_is_lost_and_most_of_it_is_set():
    blocks = [text for entry in entries().values() for kind, text in parts(entry["statement"]) if kind == "formula"]
    found = {text: displayed(text) for text in blocks}
    for text, markup in found.items():
        if markup is not None:
            whole = tree(f"<p>{markup}</p>")
            # An asterisk or a prime stands above the index, not before it.
            assert re.sub("[*′]", "", symbols(whole)) == re.sub("[*′]", "", written(text))
            assert symbols(whole).count("*") == written(text).count("*")
            assert symbols(whole).count("′") == written(text).count("′")
    assert sum(markup is not None for markup in found.values()) > 0.95 * len(found)


def test_every_element_has_the_children_that_it_needs():
    texts = list(entries().values())[::8]
    for text in texts:
        for kind, part in parts(text["statement"]):
            markup = prose(part) if kind == "text" else displayed(part)
            for element in tree(f"<p>{markup or ''}</p>").iter():
                assert len(element) == CHILDREN.get(element.tag, len(element))


def test_a_possessive_is_no_derivative():
    assert "<math" not in prose("the coefficients of Lemma 1's proof")
    assert prose("f' and x'").count("<mo>′</mo>") == 2
