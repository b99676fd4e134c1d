"""In-context learning by construction: one transformer that runs the Lasso on universal features.

The chapter executes "Transformers meet in-context learning" (li2025incontext), appendices included.
"""
