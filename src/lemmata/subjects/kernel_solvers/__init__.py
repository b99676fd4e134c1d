"""The cost of computing with kernels: the condition number bounds iterations, and the effective dimension bounds the
rank that a low-rank approximation needs.
"""
