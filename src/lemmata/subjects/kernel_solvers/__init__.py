"""The cost of computing with kernels: the condition number bounds iterations, the effective dimension the rank."""
