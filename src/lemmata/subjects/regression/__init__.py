"""Regression with kernels: rates in Sobolev spaces, random functions, splines and cascades, charge radii."""
