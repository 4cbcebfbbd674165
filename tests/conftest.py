"""Settings of the whole suite."""

from hypothesis import settings

# A first example compiles, which takes longer than any deadline worth having.
settings.register_profile("saddle", deadline=None)
settings.load_profile("saddle")
