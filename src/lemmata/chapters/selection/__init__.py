"""Selection: coding rates of kernels, and what greedy choices by them are worth."""
