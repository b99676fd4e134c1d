"""Adversaries: tangent kernels of attacked training, robust architectures, backdoors in distilled data."""
