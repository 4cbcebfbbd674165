"""The verbs `saddle import ...`."""
