"""Trains a tiny model, and one rank breaks once: after 30 steps of the first attempt. gpu_test.go runs it.

    train.py --device cuda --library ddp --backend gloo --fault oom --victim 1
"""
import argparse
import ctypes
import os
import pickle
import signal
import time

import trainingjob

STEPS, BREAKS_AT, SAVE_EVERY = 100, 30, 10
PACE = 0.1  # seconds between two steps: the operator reads the page of rank 0 meanwhile

parser = argparse.ArgumentParser()
parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
parser.add_argument("--library", default="ddp")
parser.add_argument("--backend", default="gloo")
parser.add_argument("--fault", default="")
parser.add_argument("--victim", type=int, default=0)
given = parser.parse_args()

attempt, rank = int(os.environ["TRAININGJOB_ATTEMPT"]), int(os.environ.get("RANK", "0"))
checkpoint = os.path.join(os.environ["CHECKPOINTS"], "last.pickle")


def save(step, model):
    with open(checkpoint + ".new", "wb") as file:
        pickle.dump((step, model), file)
    os.replace(checkpoint + ".new", checkpoint)


def load():
    if not os.path.exists(checkpoint):
        return 0, None
    with open(checkpoint, "rb") as file:
        return pickle.load(file)


def starts(step):
    print(f"rank={rank} attempt={attempt} starts from step={step}", flush=True)


def breaks(step):
    if given.fault and rank == given.victim and (given.fault == "always" or attempt == 0 and step == BREAKS_AT):
        FAULTS[given.fault]()


def out_of_memory():
    import torch
    torch.empty(1 << 50, dtype=torch.uint8, device="cuda")


def device_assert():
    import torch
    torch.zeros(2, device="cuda")[torch.tensor([99], device="cuda")]
    torch.cuda.synchronize()


POKES = b"""
.version 7.0
.target sm_75
.address_size 64
.visible .entry pokes() {
  .reg .b64 %address;
  mov.u64 %address, 8;
  st.global.u64 [%address], %address;
  ret;
}
"""


def illegal_access():
    """Writes to address 8 of the GPU. The driver compiles the kernel, because torch's own kernels check their indices."""
    import torch
    cuda, module, kernel = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_void_p()
    for failed in (cuda.cuModuleLoadData(ctypes.byref(module), POKES), cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"pokes"),
                   cuda.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, None, None, None)):
        assert not failed, f"the driver returns {failed}"
    torch.cuda.synchronize()


def endless_kernel():
    import torch
    torch.cuda._sleep(1 << 60)  # cycles
    torch.cuda.synchronize()


def load_batch():
    time.sleep(10_000)


def raise_exception():
    raise ValueError("batch 30 is empty")


FAULTS = {
    "oom": out_of_memory, "assert": device_assert, "illegal": illegal_access, "kernel": endless_kernel, "loader": load_batch,
    "exception": raise_exception, "always": raise_exception, "segv": lambda: ctypes.string_at(0), "exit": lambda: os._exit(3),
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL), "stop": lambda: os.kill(os.getpid(), signal.SIGSTOP),
}


def ddp():
    import torch
    import torch.distributed as dist
    device = torch.device(given.device, int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count() if given.device == "cuda" else 0)
    if given.device == "cuda":
        torch.cuda.set_device(device)
    dist.init_process_group(given.backend)
    model = torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)).to(device)
    step, saved = load()
    if saved:
        model.load_state_dict(saved)
    starts(step)
    parallel = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    while step < STEPS:
        breaks(step)
        loss = parallel(torch.randn(64, 20, device=device)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        trainingjob.report(step, loss=loss.item())
        if rank == 0 and step % SAVE_EVERY == 0:
            save(step, {name: value.cpu() for name, value in model.state_dict().items()})
        time.sleep(PACE)
    dist.destroy_process_group()


def jax():
    os.environ.update(JAX_PLATFORMS=given.device, XLA_PYTHON_CLIENT_PREALLOCATE="false")  # other runs use the GPU, too
    import jax
    import numpy

    @jax.jit
    def train(weights, x):
        loss, gradient = jax.value_and_grad(lambda w: ((x @ w - 1) ** 2).mean())(weights)
        return weights - 0.01 * gradient, loss

    step, weights = load()
    if weights is None:
        weights = numpy.zeros((20, 1), "float32")
    starts(step)
    while step < STEPS:
        breaks(step)
        weights, loss = train(weights, numpy.random.randn(64, 20).astype("float32"))
        step += 1
        trainingjob.report(step, loss=float(loss))
        if step % SAVE_EVERY == 0:
            save(step, numpy.asarray(weights))
        time.sleep(PACE)


def lightning():
    import lightning.pytorch as pl
    import torch
    from lightning.pytorch.callbacks import ModelCheckpoint

    class Model(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(20, 1)

        def training_step(self, batch, batch_idx):
            loss = self.layer(batch).square().mean()
            self.log("loss", loss)
            return loss

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.01)

    class Breaks(pl.Callback):
        def on_train_start(self, trainer, *_):
            starts(trainer.global_step)

        def on_train_batch_end(self, trainer, *_):
            breaks(trainer.global_step)
            time.sleep(PACE)

    folder = os.environ["CHECKPOINTS"]
    pl.Trainer(max_steps=STEPS, accelerator="gpu" if given.device == "cuda" else "cpu", devices=1, logger=False, enable_progress_bar=False, log_every_n_steps=1,
               default_root_dir=folder, callbacks=[ModelCheckpoint(folder, every_n_train_steps=SAVE_EVERY, save_last=True), trainingjob.hooks.lightning(0), Breaks()],
               ).fit(Model(), torch.utils.data.DataLoader(torch.ones(4000, 20), batch_size=4), ckpt_path="last")


def transformers():
    import torch
    from transformers import Trainer, TrainerCallback, TrainingArguments
    from transformers.trainer_utils import get_last_checkpoint

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(20, 1)

        def forward(self, x, labels=None):
            out = self.layer(x)
            return {"loss": (out - labels).square().mean(), "logits": out}

    class Breaks(TrainerCallback):
        def on_train_begin(self, args, state, control, **_):
            starts(state.global_step)

        def on_step_end(self, args, state, control, **_):
            breaks(state.global_step)
            time.sleep(PACE)

    folder = os.environ["CHECKPOINTS"]
    args = TrainingArguments(folder, max_steps=STEPS, per_device_train_batch_size=4, save_steps=SAVE_EVERY, logging_steps=1, report_to=[], disable_tqdm=True,
                             use_cpu=given.device == "cpu")
    data = [{"x": torch.ones(20), "labels": torch.ones(1)} for _ in range(400)]
    trainer = Trainer(Model(), args, train_dataset=data, callbacks=[trainingjob.hooks.transformers(0), Breaks()])
    trainer.train(resume_from_checkpoint=get_last_checkpoint(folder))


trainingjob.report()  # the imports take a while
{"ddp": ddp, "jax": jax, "lightning": lightning, "transformers": transformers}[given.library]()
print(f"rank={rank} attempt={attempt} done", flush=True)
