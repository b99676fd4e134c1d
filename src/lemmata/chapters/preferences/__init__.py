"""What preferences can and cannot tell: comparisons, rewards, policies that follow them, and optimising too far."""
