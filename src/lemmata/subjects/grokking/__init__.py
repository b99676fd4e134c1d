"""Grokking: why test accuracy can rise long after training accuracy, and when it will."""
