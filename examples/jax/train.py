"""Trains a linear model with JAX on several processes, on CPUs or GPUs.

Who this process is and where the others are stands in JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES and JAX_PROCESS_ID, which
the operator sets. The processes stand and fall together: when one dies, the operator starts all of them again, and they
go on from the newest checkpoint.
"""
import os
import signal
import sys
import time
import traceback

signal.signal(signal.SIGTERM, lambda *_: os._exit(143))  # until the training begins there is nothing to save
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec

try:
    from trainingjob import report  # sdk/python/trainingjob/reporting.py, copied beside this file as trainingjob.py
except ImportError:
    def report(*_, **__):
        """Without the SDK nothing is reported."""


STEPS = int(os.environ.get("STEPS", "300"))
PACE = float(os.environ.get("PACE", "0.1"))  # seconds between two steps
SAVE_EVERY = 20
CHECKPOINTS = os.environ.get("CHECKPOINTS", "/checkpoints")
GOOD_LOSS = 0.02  # half of it is noise in the data
FEATURES = 20

rank, world = int(os.environ["JAX_PROCESS_ID"]), int(os.environ["JAX_NUM_PROCESSES"])
attempt = int(os.environ["TRAININGJOB_ATTEMPT"])
life = int(os.environ["TRAININGJOB_LIFE"])
told_to_end = False


def say(*words):
    print(f"rank={rank} world={world} attempt={attempt}", *words, flush=True)


def on_sigterm(*_):
    global told_to_end  # looked at between two steps
    told_to_end = True


def checkpoints():
    """All checkpoints, the newest last. The number of the life comes first in the names: what a process of an earlier life
    writes late, from a node that was cut off, is never taken for the newest."""
    return sorted(name for name in os.listdir(CHECKPOINTS) if name.endswith(".npz"))


def save(step, weights):
    """Writes a file beside the checkpoints, then renames it: a checkpoint is there as a whole or not at all."""
    name = f"{CHECKPOINTS}/{life:012d}-{step:09d}.npz"
    with open(name + ".new", "wb") as f:
        np.savez(f, step=step, weights=np.asarray(weights))
        f.flush()
        os.fsync(f.fileno())
    os.rename(name + ".new", name)
    for old in checkpoints()[:-2]:
        os.remove(f"{CHECKPOINTS}/{old}")
    say(f"step={step} saved")


def load():
    if not checkpoints():
        say("step=0 starts from nothing")
        return 0, np.zeros(FEATURES, np.float32)
    name = f"{CHECKPOINTS}/{checkpoints()[-1]}"
    with np.load(name) as saved:
        step, weights = int(saved["step"]), saved["weights"]
    say(f"step={step} starts from", name)
    return step, weights


def batch(seed, size):
    """Random inputs, and what the true weights 0, 1/20, 2/20 ... make of them, with noise."""
    random = np.random.default_rng(seed)
    x = random.standard_normal((size, FEATURES), np.float32)
    return x, x @ (np.arange(FEATURES, dtype=np.float32) / FEATURES) + 0.1 * random.standard_normal(size, np.float32)


def loss_of(weights, x, y):
    return jnp.mean((x @ weights - y) ** 2)


@jax.jit
def train(weights, x, y):
    loss, gradient = jax.value_and_grad(loss_of)(weights, x, y)
    return weights - 0.02 * gradient, loss


def main():
    say("waits for the other processes")
    report()  # from now on a hang is found
    jax.config.update("jax_cpu_collectives_implementation", "gloo")  # GPUs and TPUs have their own
    jax.distributed.initialize(os.environ["JAX_COORDINATOR_ADDRESS"], world, rank)
    say("met the other processes:", jax.device_count(), "devices")
    mesh = Mesh(np.array(jax.devices()), ["all"])
    whole, parts = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("all"))
    step, weights = load()
    multihost_utils.sync_global_devices("loaded")  # no process removes a checkpoint that another still reads
    weights = jax.make_array_from_process_local_data(whole, weights)
    signal.signal(signal.SIGTERM, on_sigterm)
    while step < STEPS and not told_to_end:
        mine = batch(step * world + rank, 64)  # this process's part of the batch of this step
        weights, loss = train(weights, *(jax.make_array_from_process_local_data(parts, part) for part in mine))
        step += 1
        say(f"step={step} loss={float(loss):.4f}")
        report(step, loss=float(loss))
        if rank == 0 and step % SAVE_EVERY == 0:
            save(step, weights)
        time.sleep(PACE)
    if rank == 0:
        save(step, weights)
    if step < STEPS:
        os._exit(143)  # at once: leaving in order would wait for the others
    loss = float(loss_of(np.asarray(weights), *batch(10**9, 1000)))
    say(f"step={step} done loss={loss:.4f}")
    jax.distributed.shutdown()
    sys.exit(0 if loss < GOOD_LOSS else f"the loss should be below {GOOD_LOSS}")


try:
    main()
except Exception:
    traceback.print_exc()
    sys.stderr.flush()
    os._exit(1)  # at once: leaving in order would wait for a process that is dead
