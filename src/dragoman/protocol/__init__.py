"""The protocol as a state machine: messages in, events and actions out; no waiting, no clock, no sockets."""
