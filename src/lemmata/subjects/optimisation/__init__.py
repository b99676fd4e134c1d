"""How fast gradient and proximal methods reach a minimum, with exact and with inexact steps, and which minimum they
reach.
"""
