"""Trains a linear model with DistributedDataParallel over gloo, and reports each step. One rank hangs in each of the first attempts."""
import os
import threading
import time

import torch
import torch.distributed as dist

import dataset
import trainingjob

attempt, rank = int(os.environ["TRAININGJOB_ATTEMPT"]), int(os.environ["RANK"])
victims = [int(word) for word in os.environ["VICTIMS"].split(",")]
victim = attempt < len(victims) and victims[attempt] == rank
first, second = threading.Lock(), threading.Lock()


def writes_the_log():
    with second:
        time.sleep(0.5)
        with first:
            pass


def saves():
    with first:
        threading.Thread(target=writes_the_log, daemon=True).start()
        time.sleep(0.2)
        with second:  # never free again
            pass


trainingjob.report()
dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
for step in range(1, 100_000):
    fault = os.environ["FAULT"] if victim and step == 20 else ""
    loss = model(dataset.read(fault)).square().mean()
    loss.backward()
    if fault == "deadlock":
        saves()
    trainingjob.report(attempt * 1000 + step, loss=float(loss))
    time.sleep(0.1)
