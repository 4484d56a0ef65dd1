"""One script per contender, each started as a fresh process; nothing here is imported by the benchmark itself."""
