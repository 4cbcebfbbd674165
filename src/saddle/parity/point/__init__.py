"""What is particular to the reference rows of each point task: one file a task."""
