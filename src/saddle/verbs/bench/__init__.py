"""The verbs `saddle bench ...`."""
