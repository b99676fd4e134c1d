"""Format numbers and names for sentences."""

from collections.abc import Sequence


def told(value: float) -> str:
    """Format an error or a difference, given as a share of the target's variance.

    >>> told(0.98765), told(0.003412), told(2e-7)
    ('0.988', '0.0034', 'less than 0.0001')
    """
    return "less than 0.0001" if value < 1e-4 else f"{value:.2g}" if value < 0.1 else f"{value:.3f}"


def told_small(value: float) -> str:
    """Format a number with two digits, even if it is tiny.

    >>> told_small(0.0341), told_small(0.0000123), told_small(2.5e-9), told_small(0.0)
    ('0.034', '0.000012', '2.5e-9', '0')
    """
    if value == 0 or value >= 1e-4:
        return f"{value:.2g}"
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{value:.{1 - int(exponent)}f}" if value >= 1e-6 else f"{mantissa}e{int(exponent)}"


def factor(value: float) -> str:
    """Format a factor between two errors.

    >>> factor(2.34), factor(87.4), factor(12345.6)
    ('2.3', '87', '12,346')
    """
    return f"{value:.1f}" if value < 10 else f"{value:,.0f}"


def listed(names: Sequence[str]) -> str:
    """Join names with commas and "and"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
