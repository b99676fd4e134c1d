"""The tables of docs/trust.md about mutations and walks are those of the catalogue."""

import functools
import importlib.util
import pathlib
from typing import Any

import pytest

DOCS = pathlib.Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def tables():
    spec = importlib.util.spec_from_file_location("trust_tables", DOCS / "trust_tables.py")
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.rows = functools.cache(module.rows)
    return module


def test_the_page_has_the_tables_of_the_catalogue(tables):
    page = (DOCS / "trust.md").read_text(encoding="utf-8")
    assert tables.written(page) == page, "run python docs/trust_tables.py"


def test_every_listed_claim_has_a_mutation_that_was_not_noticed(tables):
    listed = [line.split("`")[1] for line in tables.survivors() if line.startswith("| `")]
    found = tables.mutated()
    assert listed == sorted(listed)
    assert len(listed) > 50
    for name in listed:
        assert found[name]["survivors"], name
        assert not found[name]["left"], name


def test_the_walked_settings_are_counted_once(tables):
    rows = [line.split("|")[2:-1] for line in tables.walks() if line.startswith("| to ")]
    for _, settings, *states in rows:
        assert int(settings) == sum(map(int, states))
