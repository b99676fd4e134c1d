"""Statistical queries: what gradients can see of a target, and what they cannot."""
