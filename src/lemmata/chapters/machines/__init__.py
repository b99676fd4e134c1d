"""Deep kernel machines: learned Gram matrices between layers of infinite width, dense and convolutional."""
