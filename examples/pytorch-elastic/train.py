"""Trains a linear model with however many workers there are, under torchrun.

torchrun reads PET_*, which the operator sets, and gives this program RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT. When a
worker dies, torchrun starts this program anew on the others, which go on from the newest checkpoint, and once more when the
operator has replaced the worker.
"""
import datetime
import os
import signal
import sys
import time

signal.signal(signal.SIGTERM, lambda *_: os._exit(143))  # until the training begins there is nothing to save
import torch
import torch.distributed as dist

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

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
attempt = int(os.environ["TRAININGJOB_ATTEMPT"])
life = int(os.environ["TRAININGJOB_LIFE"])
device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0"))) if torch.cuda.is_available() else torch.device("cpu")
told_to_end = False


def say(*words):
    print(f"rank={rank} world={world} attempt={attempt}", *words, flush=True)


def on_sigterm(*_):
    global told_to_end  # looked at between two steps, when model and optimizer fit together
    told_to_end = True


def agree():
    """Any rank may become rank 0, so all take the greatest number of theirs and of the newest checkpoint: names never fall."""
    global life
    newest = int(checkpoints()[-1].split("-")[0]) if checkpoints() else 0
    number = torch.tensor(max(life, newest), device=device)
    dist.all_reduce(number, dist.ReduceOp.MAX)
    life = number.item()


def checkpoints():
    """All checkpoints, the newest last. The number of the life comes first in the names: what a rank of an earlier life
    writes late, from a node that was cut off, is never taken for the newest."""
    return sorted(name for name in os.listdir(CHECKPOINTS) if name.endswith(".pt"))


def save(step, model, optimizer):
    """Writes a file beside the checkpoints, then renames it: a checkpoint is there as a whole or not at all."""
    name = f"{CHECKPOINTS}/{life:012d}-{step:09d}.pt"
    with open(name + ".new", "wb") as f:
        torch.save({"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, f)
        f.flush()
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
    saved = torch.load(name, map_location=device)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    say(f"step={saved['step']} starts from", name)
    return saved["step"]


def batch(seed, size):
    """Random inputs, and what the true weights 0, 1/20, 2/20 ... make of them, with noise."""
    random = torch.Generator().manual_seed(seed)
    x = torch.randn(size, FEATURES, generator=random)
    y = x @ (torch.arange(FEATURES) / FEATURES).unsqueeze(1) + 0.1 * torch.randn(size, 1, generator=random)
    return x.to(device), y.to(device)


def main():
    say("waits for the other ranks")
    report()  # from now on a hang is found
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=datetime.timedelta(minutes=2))
    say("met the other ranks")
    agree()
    model = torch.nn.Linear(FEATURES, 1).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    step = load(model, optimizer)
    dist.barrier()  # no rank saves, and so removes old checkpoints, while another rank still reads one
    parallel = torch.nn.parallel.DistributedDataParallel(model)
    signal.signal(signal.SIGTERM, on_sigterm)
    while step < STEPS and not told_to_end:
        x, y = batch(step * world + rank, 64)
        loss = torch.nn.functional.mse_loss(parallel(x), y)
        optimizer.zero_grad()
        loss.backward()  # sums the gradients of all ranks
        optimizer.step()
        step += 1
        say(f"step={step} loss={loss.item():.4f}")
        report(step, loss=loss.item())
        if rank == 0 and step % SAVE_EVERY == 0:
            save(step, model, optimizer)
        time.sleep(PACE)
    if rank == 0:
        save(step, model, optimizer)
    if step < STEPS:
        sys.exit(143)
    x, y = batch(10**9, 1000)
    loss = torch.nn.functional.mse_loss(model(x), y).item()
    say(f"step={step} done loss={loss:.4f}")
    dist.destroy_process_group()
    sys.exit(0 if loss < GOOD_LOSS else f"the loss should be below {GOOD_LOSS}")


main()
