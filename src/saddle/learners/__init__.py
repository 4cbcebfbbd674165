"""What improves policies from rollouts."""
