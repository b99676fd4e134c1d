"""Names and values of the user's are texts of the card: no parser of Markdown finds markup in them."""

import dataclasses
import types

import pytest
from markdown_it import MarkdownIt

from lemmata.interfaces.report import model_card
from lemmata.workflows.records.studies import Finding
from tests.interfaces.report.example import measured

PARSER = MarkdownIt("commonmark").enable("table")
EVIL = (
    "<img src=x onerror=1>\n# evil.csv",
    "a\n\n```\n# evil\n",
    "\x1b]0;evil\x07",
    "![a](http://evil) <http://evil> [b](x)",
    "<!-- ",
    "a\\|b` | `c",
    "&lt;b&gt; *x* __y__ ~~z~~ $1$",
    "\u202egnp.exe",
)


def evil(text):
    """A record in which each text of a user is this text, and its model."""
    record = measured()
    models = [dataclasses.replace(own, title=text, formula=text) for own in record.models]
    columns = [
        dataclasses.replace(column, name=f"{number}{text}", range=text)
        for number, column in enumerate(record.data.columns)
    ]
    data = dataclasses.replace(record.data, name=text, target=text, columns=columns)
    findings = [Finding("leakage", (), text)]
    answers = dataclasses.replace(record.answers, sentences=[text])
    record = dataclasses.replace(
        record, models=models, data=data, findings=findings, answers=answers, command=f"a {text}"
    )
    final = types.SimpleNamespace(
        name=models[0].name, inputs=tuple(column.name for column in columns), labels=(text,), rows=9, positional=False,
        code=f"names = [{text!r}]", why={text: text}, model=None,
    )  # fmt: skip
    return final, record


@pytest.mark.parametrize("text", EVIL, ids=ascii)
def test_a_text_of_the_user_is_no_markup(text):
    final, record = evil(text)
    card = model_card(final, record, "m.skops", ["sklearn.tree._tree.Tree"])
    assert [sign for sign in card if not (sign.isprintable() or sign == "\n")] == []
    tokens = PARSER.parse(card)
    inline = [child for token in tokens for child in token.children or ()]
    assert {token.type for token in (*tokens, *inline)} <= {
        "heading_open", "heading_close", "paragraph_open", "paragraph_close", "inline", "text", "code_inline", "fence",
        "table_open", "table_close", "thead_open", "thead_close", "tbody_open", "tbody_close", "tr_open", "tr_close",
        "th_open", "th_close", "td_open", "td_close", "bullet_list_open", "bullet_list_close", "list_item_open",
        "list_item_close", "strong_open", "strong_close", "text_special", "softbreak",
    }  # fmt: skip
    kinds = [token.type for token in tokens]
    heads = [tokens[place + 1].content for place, kind in enumerate(kinds) if kind == "heading_open"]
    assert heads[1:] == [
        "Expected error", "Before you rely on it", "Load it", "Make it without lemmata", "Versions",
    ]  # fmt: skip
    assert kinds.count("strong_open") == 0
    assert sum(child.type == "strong_open" for child in inline) == 1
    assert kinds.count("td_open") == 3 * len(record.data.columns)
    assert kinds.count("fence") == 2


def test_the_card_shows_names_and_formulas_as_they_are():
    final, record = evil("table_1.csv")
    models = [dataclasses.replace(record.models[0], formula="<x, y>/d"), *record.models[1:]]
    tokens = PARSER.parse(model_card(final, dataclasses.replace(record, models=models), "m.skops", []))
    texts = ["".join(child.content for child in token.children) for token in tokens if token.children]
    assert any("for table_1.csv (<x, y>/d), fitted to 9 rows" in text for text in texts)
