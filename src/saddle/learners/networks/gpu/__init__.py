"""Every hand-written kernel of the learners. `backend.py` calls them, and has a plain twin in
`networks/plain.py`.
"""
