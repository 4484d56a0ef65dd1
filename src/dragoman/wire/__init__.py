"""What messages look like: msgspec structs, the method table, the revisions; no behaviour, no I/O."""
