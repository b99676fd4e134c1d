"""Two-layer softmax networks: they train like their tangent kernel, from any initial draw that is wide enough.

Constants that the source hides in O and Omega are taken as 1. A verdict speaks of the statement with that constant, not
of the statement that some constant exists; where no constant can save a statement, the claim shows a ladder on which
every constant fails.
"""
