"""Tests of chapters rotate: their claims are judged where the catalogue is written, and the laws sample them."""

import pytest


def pytest_itemcollected(item):
    """Each test of a chapter has its turn with every 19th seed, unless it says otherwise."""
    if not item.get_closest_marker("rotating"):
        item.add_marker(pytest.mark.rotating(19))
