"""The version of lemmata."""

__version__ = "0.1.0"
