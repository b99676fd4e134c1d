"""When a finite network is its tangent kernel: how fast kernels converge in width, and how far training moves them."""
