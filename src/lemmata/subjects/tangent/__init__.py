"""When a finite network equals its tangent kernel: how fast kernels converge in width, how far training moves them."""
