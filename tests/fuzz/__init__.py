"""Settings drawn at random against a second way: each case a seed, each turn some of the cases."""
