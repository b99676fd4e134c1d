"""Numbers and names in sentences."""

from collections.abc import Sequence


def told(value: float) -> str:
    """A share of the variance.

    >>> told(0.98765), told(0.003412), told(2e-7)
    ('0.988', '0.0034', 'less than 0.0001')
    """
    return "less than 0.0001" if value < 1e-4 else f"{value:.2g}" if value < 0.1 else f"{value:.3f}"


def listed(names: Sequence[str]) -> str:
    """Names with commas and an "and"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
