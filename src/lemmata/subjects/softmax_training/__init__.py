"""Two-layer softmax networks: from any wide enough initial draw, training follows the tangent kernel.

The network is F_l(x) = m <a_l, softmax(W' x)>: it has m hidden units with trained weights W, and outputs l with fixed
signs a_l. Constants that the source hides in O and Omega are taken as 1. A verdict is about the statement with this
constant. A verdict is not about the statement that some constant exists. If a statement is false for every constant,
the claim shows a series of sizes along which the constant would have to grow without bound.
"""
