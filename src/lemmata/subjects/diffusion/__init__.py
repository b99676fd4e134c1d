"""Diffusion models: noised data, denoisers and scores, how scores are learned, and how samples are drawn."""
