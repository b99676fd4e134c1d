"""Infinitely wide networks: how fast they are reached, the laws of their ensembles, and solving with their kernels."""
