"""How fast gradient descent fits the training rows, and which of the many fits it chooses."""
