"""Linear state-space models: what they compute, how they are stepped, what they remember, what they cannot select."""
