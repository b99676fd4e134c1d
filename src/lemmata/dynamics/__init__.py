"""Floor 3: kernels in motion: stepwise representations, particles under a critic, fine-tuned language models."""
