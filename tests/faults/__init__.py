"""Every command goes through every fault."""
