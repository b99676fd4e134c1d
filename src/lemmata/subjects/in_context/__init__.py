"""In-context learning by construction: one transformer that runs the Lasso on universal features, and how exact its
steps are.
"""
