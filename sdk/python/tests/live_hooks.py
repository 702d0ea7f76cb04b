"""The hooks with the real libraries, which are large: not part of the unit tests. Each class needs its library alone.

    python -m unittest tests.live_hooks.Keras          # keras and jax; make test-integrations installs and runs it
    python -m unittest tests.live_hooks.Lightning      # lightning or pytorch-lightning, and torch
    python -m unittest tests.live_hooks.Transformers   # transformers, accelerate and torch
"""

import unittest

from tests.test_reporting import Rank

SERVES = "\nprint('ready', flush=True); time.sleep(60)"


class Library(unittest.TestCase):
    def page_after(self, code):
        with Rank("import os, time\n" + code + SERVES, HOME="/tmp") as rank:
            while rank.line != "ready":  # libraries print lines of their own
                line = rank.process.stdout.readline()
                if not line:
                    self.fail(rank.process.communicate()[1])
                rank.line = line.strip()
            return rank.get("/progress")


class Keras(Library):
    def test_fit_reports_iterations_and_loss(self):
        page = self.page_after("""
import numpy as np
os.environ["KERAS_BACKEND"] = "jax"
import keras, trainingjob
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.fit(np.ones((40, 4)), np.ones((40, 1)), batch_size=4, epochs=3, verbose=0, callbacks=[trainingjob.hooks.keras(every_seconds=0)])
""")
        self.assertEqual(page["step"], 30)
        self.assertIn("loss", page["metrics"])


class Lightning(Library):
    def test_fit_reports_steps_metrics_and_checkpoint(self):
        page = self.page_after("""
import tempfile, torch, trainingjob
try:
    import lightning.pytorch as pl
except ImportError:
    import pytorch_lightning as pl
class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
    def training_step(self, batch, batch_idx):
        loss = self.layer(batch).square().mean()
        self.log("train_loss", loss)
        return loss
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.01)
data = torch.utils.data.DataLoader(torch.ones(40, 4), batch_size=4)
pl.Trainer(max_epochs=3, accelerator="cpu", devices=1, logger=False, enable_progress_bar=False, default_root_dir=tempfile.mkdtemp(), log_every_n_steps=1,
           callbacks=[trainingjob.hooks.lightning(every_seconds=0)]).fit(Model(), data)
""")
        self.assertEqual(page["step"], 30)
        self.assertIn("train_loss", page["metrics"])
        self.assertTrue(page["checkpoint"].endswith(".ckpt"), page)


class Transformers(Library):
    def test_train_reports_steps_metrics_and_checkpoint(self):
        page = self.page_after("""
import tempfile, torch, trainingjob
from transformers import Trainer, TrainingArguments
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
    def forward(self, x, labels=None):
        out = self.layer(x)
        return {"loss": (out - labels).square().mean(), "logits": out}
data = [{"x": torch.ones(4), "labels": torch.ones(1)} for _ in range(40)]
args = TrainingArguments(tempfile.mkdtemp(), num_train_epochs=3, per_device_train_batch_size=4, logging_steps=5, save_steps=10, report_to=[], disable_tqdm=True)
Trainer(Model(), args, train_dataset=data, callbacks=[trainingjob.hooks.transformers(every_seconds=0)]).train()
""")
        self.assertEqual(page["step"], 30)
        self.assertIn("train_loss", page["metrics"], "what Trainer logs last")
        self.assertTrue(page["checkpoint"].endswith("checkpoint-30"), page)


if __name__ == "__main__":
    unittest.main()
