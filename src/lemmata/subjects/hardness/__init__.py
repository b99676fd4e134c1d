"""The hardness of learning: consistent hypotheses that are hard to find, and other representations that are not."""
