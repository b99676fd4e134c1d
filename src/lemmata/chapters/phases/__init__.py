"""Phases: grokking as a first-order transition of two-layer networks."""
