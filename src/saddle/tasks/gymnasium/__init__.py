"""Environments that somebody else wrote, as tasks: Gymnasium's, old Gym's, vector environments, and
those of another interpreter.

`environment` says what one is, `costs` where its costs come from; `facts` asks a process about it,
`task` and `worlds` step it in processes, each a `process` that runs the folder `worker`.
"""
