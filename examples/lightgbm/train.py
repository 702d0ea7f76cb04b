"""Trains boosted trees with LightGBM on several workers.

Every rank has a part of the rows, and LightGBM sums histograms over the network. Who this rank is stands in RANK, where all of
them are in LIGHTGBM_MACHINES, which the operator sets. The ranks stand and fall together: when one dies, the operator
starts all of them again, and they go on from the newest checkpoint.
"""
import os
import signal
import socket
import sys
import time

import lightgbm
import numpy as np

try:
    from trainingjob import report  # sdk/python/trainingjob/reporting.py, copied beside this file as trainingjob.py
except ImportError:
    def report(*_, **__):
        """Without the SDK nothing is reported."""


STEPS = int(os.environ.get("STEPS", "100"))  # trees
PACE = float(os.environ.get("PACE", "0.2"))  # seconds between two steps
SAVE_EVERY = 5
CHECKPOINTS = os.environ.get("CHECKPOINTS", "/checkpoints")
GOOD_LOSS = 0.2  # root of the mean square error; a model without trees has more than 1

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
attempt = int(os.environ["TRAININGJOB_ATTEMPT"])
life = int(os.environ["TRAININGJOB_LIFE"])
told_to_end = False


def say(*words):
    print(f"rank={rank} world={world} attempt={attempt}", *words, flush=True)


def on_sigterm(*_):
    global told_to_end  # looked at after each tree
    told_to_end = True


def checkpoints():
    """All checkpoints, the newest last. The number of the life comes first in the names: what a rank of an earlier life
    writes late, from a node that was cut off, is never taken for the newest."""
    return sorted(name for name in os.listdir(CHECKPOINTS) if name.endswith(".txt"))


def save(step, model):
    """Writes a file beside the checkpoints, then renames it: a checkpoint is there as a whole or not at all."""
    name = f"{CHECKPOINTS}/{life:012d}-{step:09d}.txt"
    with open(name + ".new", "w") as f:
        f.write(model.model_to_string())
        f.flush()
        os.fsync(f.fileno())
    os.rename(name + ".new", name)
    for old in checkpoints()[:-2]:
        os.remove(f"{CHECKPOINTS}/{old}")
    say(f"step={step} saved")


def load():
    if not checkpoints():
        say("step=0 starts from nothing")
        return None, 0
    name = f"{CHECKPOINTS}/{checkpoints()[-1]}"
    model = lightgbm.Booster(model_file=name)
    say(f"step={model.num_trees()} starts from", name)
    return model, model.num_trees()


def rows(seed, size):
    """Random inputs, and what a curve makes of them, with noise."""
    random = np.random.default_rng(seed)
    x = random.uniform(-2, 2, (size, 4))
    return x, np.sin(2 * x[:, 0]) + x[:, 1] ** 2 + 0.1 * random.standard_normal(size)


def address(machine):
    """Replaces the name by its address, as LightGBM knows no names, and waits until the name has one."""
    name, port = machine.split(":")
    give_up = time.time() + 120
    while True:
        try:
            return f"{socket.gethostbyname(name)}:{port}"
        except OSError:
            if time.time() > give_up:
                raise
            time.sleep(0.5)


def after_each_tree(begin):
    def callback(env):
        step = begin + env.iteration + 1 - env.begin_iteration
        loss = env.evaluation_result_list[0][2]
        say(f"step={step} loss={loss:.4f}")
        report(step, loss=loss)
        if rank == 0 and (step % SAVE_EVERY == 0 or step == STEPS or told_to_end):
            save(step, env.model)
        if told_to_end:
            sys.stdout.flush()
            os._exit(143)  # at once: leaving in order would wait for the others
        time.sleep(PACE)

    return callback


def main():
    signal.signal(signal.SIGTERM, lambda *_: os._exit(143))  # until the training begins there is nothing to save
    say("waits for the other ranks")
    report()  # from now on a hang is found
    machines = [f"rank={rank}"] + [address(m) for m in os.environ["LIGHTGBM_MACHINES"].split(",")]
    model, step = load()
    signal.signal(signal.SIGTERM, on_sigterm)
    x, y = rows(rank, 20000)
    network = {
        "tree_learner": "data", "num_machines": world, "machines": ",".join(machines), "time_out": 2,
        "local_listen_port": int(os.environ["LIGHTGBM_LOCAL_LISTEN_PORT"]), "pre_partition": True,
    } if world > 1 else {}
    if step < STEPS:
        mine = lightgbm.Dataset(x, y)
        model = lightgbm.train(
            {"objective": "regression", "metric": "rmse", "num_leaves": 15, "learning_rate": 0.15, "num_threads": 1,
             "device_type": os.environ.get("DEVICE", "cpu"), "verbose": -1, **network},
            mine, STEPS - step, valid_sets=[mine], valid_names=["train"], init_model=model, callbacks=[after_each_tree(step)])
    x, y = rows(10**9, 2000)
    loss = float(np.sqrt(np.mean((model.predict(x) - y) ** 2)))
    say(f"step={model.num_trees()} done loss={loss:.4f}")
    sys.exit(0 if loss < GOOD_LOSS else f"the loss should be below {GOOD_LOSS}")


main()
