"""Functions on the cube {-1, 1}^d: their Fourier coefficients, their sensitivity to noise, and learning them."""
