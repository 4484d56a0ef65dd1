"""Moving bytes: one file per kind of channel, none of which looks into a message."""
