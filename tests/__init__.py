"""The tests."""

from . import checked as checked
