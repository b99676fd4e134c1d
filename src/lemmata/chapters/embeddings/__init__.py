"""Embeddings: conditional laws as operators, and regression under shift."""
