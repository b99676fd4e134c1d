"""Implicit regularisation: which interpolant or which margin an optimiser chooses."""
