"""Two small MCP servers for the demo and the tests, one of each era: standard library only, run as subprocesses, imported by nobody.

`python -m dragoman.demo.legacy` is "harbour" (handshake, up to 2025-11-25), `python -m dragoman.demo.modern` is "bazaar"
(stateless, 2026-07-28). With `--http PORT` they listen on this machine, harbour with `--sse PORT` also as in 2024-11-05. Both
also run as plain files, which starts faster: `python .../dragoman/demo/legacy.py`.
"""
