"""Operators: super-resolution as a map between function spaces."""
