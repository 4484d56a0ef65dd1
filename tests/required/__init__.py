"""The requirements that the specification has for clients, a module for each group: data for `tests/requirements.py`, no code."""
