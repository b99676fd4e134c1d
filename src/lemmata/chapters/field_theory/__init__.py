"""Field theory: criticality, universality classes, and what finite width adds."""
