"""Studies: a plan of runs and a store of what they produced."""
