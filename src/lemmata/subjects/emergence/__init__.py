"""Emergence: jumps of accuracy, and whether a smooth score explains them."""
