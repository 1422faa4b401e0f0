"""What the central loop and the workers agree on; it knows neither of them."""

import os

# Here, because it must stand before numpy is imported by whichever module comes first. One thread a process: those of
# several requests and workers fight for the same cores, and wait for each other at full speed.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
