"""CPU of importing the modules (``module`` or ``module:name``) given as argument in a fresh interpreter; needs none of them itself."""

import sys
import time

modules_before = len(sys.modules)
cpu, wall = time.process_time(), time.perf_counter()
for name in sys.argv[1].split(","):
    module, _, attribute = name.partition(":")
    imported = __import__(module)
    if attribute:
        getattr(imported, attribute)
cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
count = len(sys.modules) - modules_before

import json  # noqa: E402 - after the measurement, on purpose

values = {"import_cpu_ms": cpu * 1e3, "import_wall_ms": wall * 1e3, "modules": count}
print(json.dumps({"values": values, "client": "import " + sys.argv[1]}))
