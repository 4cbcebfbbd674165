"""The verbs `saddle study ...`."""
