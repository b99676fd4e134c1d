"""Attention: as a kernel, as a smoother of values, and as a network whose hidden units share one unit of mass."""
