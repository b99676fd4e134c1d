"""Attention, and its reformulations as networks whose hidden units share one unit of mass."""
