"""Floor 3: attacks on functions of the inputs, tangent kernels under them, poisoned distilled data."""
