"""Adaptive optimisers: their regret and their failures, the limits and symmetries of their steps, what they cost."""
