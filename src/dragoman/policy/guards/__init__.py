"""Argument guards: checks of single arguments beyond the schema, one file per guard. ``base`` is the seam for guards of your own."""
