"""Generative models: what critics, couplings and denoisers measure."""
