"""What an adversary can change: bounds around an input, smoothing by noise, rows that do not belong."""
