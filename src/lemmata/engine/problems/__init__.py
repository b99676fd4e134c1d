"""Problems that claims are about, their generators and conditions. A user's data also become a problem."""
