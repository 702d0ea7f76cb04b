"""Trains a small model with FullyShardedDataParallel, on CPUs or GPUs.

Each rank holds a part of the parameters, the gradients and the optimizer's state, and saves that part: a checkpoint is a
folder with a file of each rank, and can be read by another number of ranks. Who this rank is and where the others are
stands in RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, which the operator sets and init_process_group reads. The ranks
stand and fall together: when one dies, the operator starts all of them again, and they go on from the newest checkpoint.
"""
import datetime
import os
import shutil
import signal
import sys
import time

signal.signal(signal.SIGTERM, lambda *_: os._exit(143))  # until the training begins there is nothing to save
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.distributed.fsdp.wrap import ModuleWrapPolicy

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


def anybody_told_to_end():
    """A checkpoint needs all ranks, so that all have to stop at the same step."""
    told = torch.tensor(float(told_to_end), device=device)
    dist.all_reduce(told)
    return told.item() > 0


def agree():
    """All ranks write into one folder, so they take the number of rank 0 for its name: a rank that was replaced alone has a larger one."""
    global life
    number = [life]
    dist.broadcast_object_list(number)
    life = number[0]


def checkpoints():
    """All checkpoints, the newest last. The number of the life comes first in the names: what ranks of an earlier life
    write late, from a node that was cut off, is never taken for the newest."""
    return sorted(name for name in os.listdir(CHECKPOINTS) if name.endswith(".dcp"))


def save(step, model, optimizer):
    """Writes a folder beside the checkpoints, every rank its part, then renames it: a checkpoint is there as a whole or
    not at all."""
    name = f"{CHECKPOINTS}/{life:012d}-{step:09d}.dcp"
    of_model, of_optimizer = get_state_dict(model, optimizer)
    # save returns once all ranks have synced their files
    dcp.save({"step": step, "model": of_model, "optimizer": of_optimizer}, checkpoint_id=name + ".new")
    if rank == 0:
        os.rename(name + ".new", name)
        for old in checkpoints()[:-2]:
            shutil.rmtree(f"{CHECKPOINTS}/{old}")
        say(f"step={step} saved")


def load(model, optimizer):
    if not checkpoints():
        say("step=0 starts from nothing")
        return 0
    name = f"{CHECKPOINTS}/{checkpoints()[-1]}"
    of_model, of_optimizer = get_state_dict(model, optimizer)
    saved = {"step": 0, "model": of_model, "optimizer": of_optimizer}
    dcp.load(saved, checkpoint_id=name)
    set_state_dict(model, optimizer, model_state_dict=saved["model"], optim_state_dict=saved["optimizer"])
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
    # the parts of a checkpoint are put together over gloo, where the tensors are on GPUs as well
    dist.init_process_group("cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo", timeout=datetime.timedelta(minutes=2))
    say("met the other ranks")
    agree()
    torch.manual_seed(0)  # all ranks begin with the same weights
    whole = torch.nn.Sequential(torch.nn.Linear(FEATURES, 32), torch.nn.Linear(32, 1)).to(device)
    model = FullyShardedDataParallel(
        whole,
        auto_wrap_policy=ModuleWrapPolicy({torch.nn.Linear}),
        device_mesh=init_device_mesh(device.type, (world,)),  # without it, small parameters could not be saved in parts
        use_orig_params=True,
        device_id=device,
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    step = load(model, optimizer)
    dist.barrier()  # no rank saves, and so removes old checkpoints, while another rank still reads one
    signal.signal(signal.SIGTERM, on_sigterm)
    while step < STEPS and not anybody_told_to_end():
        x, y = batch(step * world + rank, 64)
        loss = torch.nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()  # each rank gets its part of the gradients' sum
        optimizer.step()
        step += 1
        say(f"step={step} loss={loss.item():.4f}")
        report(step, loss=loss.item())
        if step % SAVE_EVERY == 0:
            save(step, model, optimizer)
        time.sleep(PACE)
    if step % SAVE_EVERY != 0:
        save(step, model, optimizer)
    if step < STEPS:
        sys.exit(143)
    x, y = batch(10**9, 1000)
    loss = torch.nn.functional.mse_loss(model(x), y).item()
    say(f"step={step} done loss={loss:.4f}")
    dist.destroy_process_group()
    sys.exit(0 if loss < GOOD_LOSS else f"the loss should be below {GOOD_LOSS}")


main()
