"""Diffusion models: noise poured over data, denoisers and scores, how they are learned and sampled from."""
