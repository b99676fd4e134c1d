"""Deep-learning theory that you can call."""

__version__ = "0.1.0"
