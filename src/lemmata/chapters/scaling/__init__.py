"""How losses fall with size, data and attempts: power laws, the budgets they imply, and what more tries can buy."""
