"""In-context learning by construction: one transformer that runs the Lasso on universal features.

The claims are about how exactly its layers take the steps of proximal gradient, and how small its risk is.
"""
