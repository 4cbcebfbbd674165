"""The process in which environments live.

An interpreter needs nothing of Saddle but this folder, started as `PYTHON -u FOLDER REPLIES`: it
imports the standard library and NumPy, runs on Python 3.8 and newer, and is started the same way by
Saddle's own interpreter and by any other. Spaces and environments are told by their members, never
by their class, so that any version of Gym or Gymnasium will do.
"""
