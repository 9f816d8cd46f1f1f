"""Helpers of arrays and of types that PyCUDA shares with other packages: ``array`` and ``dtypes``."""
