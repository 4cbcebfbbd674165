"""What the command line does: one file a verb, one folder where a verb has verbs of its own.

A verb asks the library for values, prints them and gives the exit code. What a Python program could
want as well is not here but where its concept lives. `cli/` names the verbs and their options.
"""
