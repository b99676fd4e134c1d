"""Two-layer softmax networks: they train like their tangent kernel, and learn scores for diffusion models."""
