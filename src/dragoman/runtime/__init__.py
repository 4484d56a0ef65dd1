"""Waiting: the driver that runs an engine over a transport, and the faces people use."""
