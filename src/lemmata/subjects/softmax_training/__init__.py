"""Two-layer softmax networks: from any wide enough initial draw, training follows the tangent kernel.

Constants that the source hides in O and Omega are taken as 1. A verdict is about the statement with this constant. It
is not about the statement that some constant exists. If no constant can save a statement, the claim shows a series of
sizes on which every constant fails.
"""
