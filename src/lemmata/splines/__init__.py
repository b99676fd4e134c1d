"""Floor 2: packages of polyharmonic splines, and cascades of them trained in the space of functions."""
