"""The objects of claims: problems, populations of them, conditions. A user's data become a problem too."""
