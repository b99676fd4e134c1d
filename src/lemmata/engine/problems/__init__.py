"""Floor 4: what claims speak about: problems, populations of them, conditions. A user's data become a problem too."""
