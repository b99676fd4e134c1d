"""Infinitely wide networks: how finite ones approach their kernels, in which parameterisation they stay there, and what
computing with kernels costs.
"""
