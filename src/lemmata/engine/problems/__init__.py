"""What claims speak about: problems, populations of them, conditions. A user's data become a problem too."""
