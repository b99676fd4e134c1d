"""When a finite network is its tangent kernel: how fast kernels converge as width grows, and how far training moves them."""
