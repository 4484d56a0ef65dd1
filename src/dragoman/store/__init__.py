"""What Dragoman remembers between runs: the audit, health, pins, catalogs, eras and approved commands.

``base`` has the interface, ``records`` the values, ``sqlite`` the embedded implementation, ``verify`` the audit's proof.
Nothing is imported here: ``sqlite3`` is loaded only by programs that use a store.
"""
