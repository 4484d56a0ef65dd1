"""The command line: words in, use cases of ``service`` called, text or JSON out. No logic of its own beyond that."""
