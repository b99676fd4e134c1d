"""Kernel dynamics: stepwise representations, generators against a kernel critic, fine-tuning as kernel regression."""
