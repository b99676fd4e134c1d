"""What computing with kernels costs: iterations against condition numbers, low rank against effective dimension."""
