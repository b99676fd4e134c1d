"""The cost of computing with kernels: iterations by condition number, low rank by effective dimension."""
