"""Floor 3: deep kernel machines, dense and convolutional, whose layers are Gram matrices."""
