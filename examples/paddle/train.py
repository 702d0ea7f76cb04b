"""Trains a linear model with PaddlePaddle's DataParallel, on CPUs or GPUs.

Who this trainer is and where it meets the others stands in PADDLE_TRAINER_ID, PADDLE_TRAINERS_NUM and PADDLE_MASTER, which the
operator sets. The trainers stand and fall together: when one dies, the operator starts all of them again, and they
go on from the newest checkpoint.
"""
import os
import signal
import sys
import time

signal.signal(signal.SIGTERM, lambda *_: os._exit(143))  # until the training begins there is nothing to save
import paddle
import paddle.distributed as dist

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

rank, world = int(os.environ["PADDLE_TRAINER_ID"]), int(os.environ["PADDLE_TRAINERS_NUM"])
attempt = int(os.environ["TRAININGJOB_ATTEMPT"])
life = int(os.environ["TRAININGJOB_LIFE"])
told_to_end = False


def say(*words):
    print(f"rank={rank} world={world} attempt={attempt}", *words, flush=True)


def on_sigterm(*_):
    global told_to_end  # looked at between two steps
    told_to_end = True


def checkpoints():
    """All checkpoints, the newest last. The number of the life comes first in the names: what a trainer of an earlier life
    writes late, from a node that was cut off, is never taken for the newest."""
    return sorted(name for name in os.listdir(CHECKPOINTS) if name.endswith(".pd"))


def save(step, model, optimizer):
    """Writes a file beside the checkpoints, then renames it: a checkpoint is there as a whole or not at all."""
    name = f"{CHECKPOINTS}/{life:012d}-{step:09d}.pd"
    paddle.save({"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, name + ".new")
    with open(name + ".new", "rb+") as f:
        os.fsync(f.fileno())
    os.rename(name + ".new", name)
    for old in checkpoints()[:-2]:
        os.remove(f"{CHECKPOINTS}/{old}")
    say(f"step={step} saved")


def load(model, optimizer):
    if not checkpoints():
        say("step=0 starts from nothing")
        return 0
    name = f"{CHECKPOINTS}/{checkpoints()[-1]}"
    saved = paddle.load(name)
    model.set_state_dict(saved["model"])
    optimizer.set_state_dict(saved["optimizer"])
    say(f"step={saved['step']} starts from", name)
    return saved["step"]


def batch(seed, size):
    """Random inputs, and what the true weights 0, 1/20, 2/20 ... make of them, with noise."""
    paddle.seed(seed)
    x = paddle.randn([size, FEATURES])
    truth = paddle.arange(FEATURES, dtype="float32").unsqueeze(1) / FEATURES
    return x, x @ truth + 0.1 * paddle.randn([size, 1])


def main():
    say("waits for the other trainers")
    report()  # from now on a hang is found
    if not paddle.is_compiled_with_cuda():
        os.environ["PADDLE_DISTRI_BACKEND"] = "gloo"
    dist.init_parallel_env()
    say("met the other trainers")
    model = paddle.nn.Linear(FEATURES, 1)
    optimizer = paddle.optimizer.SGD(0.02, parameters=model.parameters())
    step = load(model, optimizer)
    parallel = paddle.DataParallel(model)
    signal.signal(signal.SIGTERM, on_sigterm)
    while step < STEPS and not told_to_end:
        x, y = batch(step * world + rank, 64)
        loss = paddle.nn.functional.mse_loss(parallel(x), y)
        loss.backward()  # sums the gradients of all trainers
        optimizer.step()
        optimizer.clear_grad()
        step += 1
        say(f"step={step} loss={float(loss):.4f}")
        report(step, loss=float(loss))
        if rank == 0 and step % SAVE_EVERY == 0:
            save(step, model, optimizer)
        time.sleep(PACE)
    if rank == 0:
        save(step, model, optimizer)
    if step < STEPS:
        os._exit(143)  # at once: leaving in order would wait for the others
    x, y = batch(10**6, 1000)
    loss = float(paddle.nn.functional.mse_loss(model(x), y))
    say(f"step={step} done loss={loss:.4f}")
    sys.stdout.flush()
    os._exit(0 if loss < GOOD_LOSS else 1)


main()
