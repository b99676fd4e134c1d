"""When a network acts like its tangent kernel: how fast kernels converge in width, how far training moves them."""
