"""Trains a linear model on several processes that mpirun starts, with mpi4py.

The launcher runs mpirun, which starts this program on the workers over SSH; the operator sets up hosts and keys. When a process
or a worker dies, mpirun ends the others, and the operator starts all of them again from the newest checkpoint.
"""
import os
import signal
import sys
import time

import numpy as np
from mpi4py import MPI

STEPS = int(os.environ.get("STEPS", "300"))
PACE = float(os.environ.get("PACE", "0.1"))  # seconds between two steps
SAVE_EVERY = 20
CHECKPOINTS = os.environ.get("CHECKPOINTS", "/checkpoints")
GOOD_LOSS = 0.02  # half of it is noise in the data
FEATURES = 20

everybody = MPI.COMM_WORLD
rank, world = everybody.Get_rank(), everybody.Get_size()
attempt = int(os.environ["TRAININGJOB_ATTEMPT"])  # the operator has SSH pass it on
life = int(os.environ["TRAININGJOB_LIFE"])
told_to_end = False


def say(*words):
    print(f"rank={rank} world={world} attempt={attempt}", *words, flush=True)


def on_sigterm(*_):
    global told_to_end  # looked at between two steps
    told_to_end = True


def checkpoints():
    """All checkpoints, the newest last. The number of the life comes first in the names: what a rank of an earlier life
    writes late, from a node that was cut off, is never taken for the newest."""
    return sorted(name for name in os.listdir(CHECKPOINTS) if name.endswith(".npz"))


def save(step, weights):
    """Writes a file beside the checkpoints, then renames it: a checkpoint is there as a whole or not at all."""
    name = f"{CHECKPOINTS}/{life:012d}-{step:09d}.npz"
    with open(name + ".new", "wb") as f:
        np.savez(f, step=step, weights=weights)
        f.flush()
        os.fsync(f.fileno())
    os.rename(name + ".new", name)
    for old in checkpoints()[:-2]:
        os.remove(f"{CHECKPOINTS}/{old}")
    say(f"step={step} saved")


def load():
    if not checkpoints():
        say("step=0 starts from nothing")
        return 0, np.zeros(FEATURES)
    name = f"{CHECKPOINTS}/{checkpoints()[-1]}"
    with np.load(name) as saved:
        step, weights = int(saved["step"]), saved["weights"]
    say(f"step={step} starts from", name)
    return step, weights


def batch(seed, size):
    """Random inputs, and what the true weights 0, 1/20, 2/20 ... make of them, with noise."""
    random = np.random.default_rng(seed)
    x = random.standard_normal((size, FEATURES))
    return x, x @ (np.arange(FEATURES) / FEATURES) + 0.1 * random.standard_normal(size)


def main():
    say("met the other processes, on", MPI.Get_processor_name())
    step, weights = everybody.bcast(load() if rank == 0 else None)
    signal.signal(signal.SIGTERM, on_sigterm)
    while step < STEPS and not told_to_end:
        x, y = batch(step * world + rank, 64)
        wrong = x @ weights - y
        gradient = everybody.allreduce(2 * x.T @ wrong / len(y)) / world
        weights = weights - 0.02 * gradient
        step += 1
        say(f"step={step} loss={np.mean(wrong**2):.4f}")
        if rank == 0 and step % SAVE_EVERY == 0:
            save(step, weights)
        time.sleep(PACE)
    if rank == 0:
        save(step, weights)
    if step < STEPS:
        sys.stdout.flush()
        os._exit(143)  # at once: leaving in order would wait for the others
    x, y = batch(10**9, 1000)
    loss = float(np.mean((x @ weights - y) ** 2))
    say(f"step={step} done loss={loss:.4f}")
    sys.exit(0 if loss < GOOD_LOSS else f"the loss should be below {GOOD_LOSS}")


main()
