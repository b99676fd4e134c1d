"""How fast gradient and proximal methods get to a minimum, with exact and with inexact steps, and to which one."""
