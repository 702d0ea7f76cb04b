"""Trains boosted trees with XGBoost on several workers.

Every rank has a part of the rows, and XGBoost sums histograms over the network. Who this rank is stands in RANK and WORLD_SIZE,
where they meet in DMLC_TRACKER_URI and DMLC_TRACKER_PORT, which the operator sets; rank 0 runs the tracker. The ranks stand
and fall together: when one dies, the operator starts all of them again, and they go on from the newest checkpoint.
"""
import os
import signal
import socket
import sys
import time

import numpy as np
import xgboost
from xgboost.tracker import RabitTracker

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
    return sorted(name for name in os.listdir(CHECKPOINTS) if name.endswith(".ubj"))


def save(model):
    """Writes a file beside the checkpoints, then renames it: a checkpoint is there as a whole or not at all."""
    step = model.num_boosted_rounds()
    name = f"{CHECKPOINTS}/{life:012d}-{step:09d}.ubj"
    with open(name + ".new", "wb") as f:
        f.write(model.save_raw("ubj"))
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
    model = xgboost.Booster(model_file=name)
    say(f"step={model.num_boosted_rounds()} starts from", name)
    return model, model.num_boosted_rounds()


def rows(seed, size):
    """Random inputs, and what a curve makes of them, with noise."""
    random = np.random.default_rng(seed)
    x = random.uniform(-2, 2, (size, 4))
    return xgboost.DMatrix(x, np.sin(2 * x[:, 0]) + x[:, 1] ** 2 + 0.1 * random.standard_normal(size))


def address(name):
    """Returns the address of a name, and waits until it has one, as XGBoost does not."""
    give_up = time.time() + 120
    while True:
        try:
            return socket.gethostbyname(name)
        except OSError:
            if time.time() > give_up:
                raise
            time.sleep(0.5)


class AfterEachTree(xgboost.callback.TrainingCallback):
    def __init__(self, step):
        self.step = step

    def after_iteration(self, model, epoch, evals_log):
        self.step += 1
        loss = evals_log["train"]["rmse"][-1]
        say(f"step={self.step} loss={loss:.4f}")
        report(self.step, loss=loss)
        if rank == 0 and (self.step % SAVE_EVERY == 0 or self.step == STEPS or told_to_end):
            save(model)
        if told_to_end:
            sys.stdout.flush()
            os._exit(143)  # at once: leaving in order would wait for the others
        time.sleep(PACE)
        return False


def main():
    signal.signal(signal.SIGTERM, lambda *_: os._exit(143))  # until the training begins there is nothing to save
    say("waits for the other ranks")
    report()  # from now on a hang is found
    port = int(os.environ["DMLC_TRACKER_PORT"])
    tracker = None
    if rank == 0:
        tracker = RabitTracker(world, host_ip="0.0.0.0", port=port, sortby="task")
        tracker.start()
    with xgboost.collective.CommunicatorContext(
        dmlc_tracker_uri=address(os.environ["DMLC_TRACKER_URI"]), dmlc_tracker_port=port,
        dmlc_task_id=os.environ["DMLC_TASK_ID"], dmlc_retry=60, dmlc_timeout=120,
    ):
        say("met the other ranks")
        model, step = load()
        xgboost.collective.broadcast("loaded", 0)  # no rank removes a checkpoint that another rank still reads
        signal.signal(signal.SIGTERM, on_sigterm)
        mine = rows(rank, 20000)
        model = xgboost.train(
            {"objective": "reg:squarederror", "tree_method": "hist", "max_depth": 4, "eta": 0.15, "nthread": 1,
             "device": os.environ.get("DEVICE", "cpu")},
            mine, STEPS - step, evals=[(mine, "train")], verbose_eval=False, xgb_model=model, callbacks=[AfterEachTree(step)])
    if tracker:
        tracker.wait_for()
    test = rows(10**9, 2000)
    loss = float(np.sqrt(np.mean((model.predict(test) - test.get_label()) ** 2)))
    say(f"step={model.num_boosted_rounds()} done loss={loss:.4f}")
    sys.exit(0 if loss < GOOD_LOSS else f"the loss should be below {GOOD_LOSS}")


main()
