"""What each verb of the command line does: one file a verb. `cli.py` only names them."""
