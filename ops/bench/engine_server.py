"""Serves a GGUF file by llama.cpp until it is ended: ``python engine_server.py FILE --context-tokens 8192``.

Its own file, as it runs in an interpreter that may hold nothing but xllamacpp. Prints its address.
"""

from __future__ import annotations

import argparse
import threading
from pathlib import Path

import xllamacpp

ALIAS = "engine"
"""What the model is called."""
SLOTS = 2
"""Calls at a time: as many as a service with its defaults makes."""


def main() -> None:
    """Serve until ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--context-tokens", type=int, default=8192, help="of one call")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    params = xllamacpp.CommonParams()
    params.model.path, params.model_alias = str(options.file), {ALIAS}
    params.hostnames, params.port = ["127.0.0.1"], 0
    # The slots share the window.
    params.n_ctx, params.n_parallel = SLOTS * options.context_tokens, SLOTS
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options.threads
    params.verbosity = 0
    # It serves as long as it is referred to.
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
