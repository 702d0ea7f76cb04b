"""Callbacks that report the progress of a training to the operator, for libraries that have their own loop. Each function imports its
library when it is called, so this module needs none of them.

    Trainer(callbacks=[trainingjob.hooks.lightning()])              # PyTorch Lightning
    Trainer(..., callbacks=[trainingjob.hooks.transformers()])      # Hugging Face
    model.fit(..., callbacks=[trainingjob.hooks.keras()])           # Keras
"""

from __future__ import annotations

import time
from typing import Any, Mapping

from .reporting import MAX_METRICS, MAX_NAME, report


TAKEN = ("step", "checkpoint", "saved_for")  # arguments of report()


class _Pace:
    """Reports at most once in every_seconds, because a metric on a GPU makes the training wait."""

    def __init__(self, every_seconds: float) -> None:
        self.every, self.due = every_seconds, 0.0

    def is_due(self) -> bool:
        now = time.monotonic()
        if now < self.due:
            return False
        self.due = now + self.every
        return True


def numbers(logs: Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns the first numbers of what a library logs, as many as a report may have."""
    found: dict[str, Any] = {}
    for name, value in (logs or {}).items():
        try:
            number = float(value)
        except (TypeError, ValueError, RuntimeError):  # a tensor of several numbers
            continue
        if name in TAKEN:  # a library logs its step too
            continue
        if len(found) < MAX_METRICS and len(name.encode()) <= MAX_NAME and name.isprintable():
            found[name] = number
    return found


def lightning(every_seconds: float = 5) -> Any:
    """Returns a callback for the Trainer of PyTorch Lightning. It reports the global step, what is logged, and the last checkpoint."""
    try:
        from lightning.pytorch import Callback  # pyright: ignore[reportMissingImports]
    except ImportError:
        from pytorch_lightning import Callback  # pyright: ignore[reportMissingImports]  # its former name

    class Progress(Callback):  # type: ignore[misc]
        def __init__(self) -> None:
            self.pace = _Pace(every_seconds)

        def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
            report()

        def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
            if self.pace.is_due():
                self.tell(trainer)

        def on_train_end(self, trainer: Any, pl_module: Any) -> None:
            self.tell(trainer)

        def tell(self, trainer: Any) -> None:
            saved = getattr(trainer.checkpoint_callback, "last_model_path", "") or getattr(trainer.checkpoint_callback, "best_model_path", "")
            report(trainer.global_step, saved or None, **numbers(trainer.logged_metrics))

    return Progress()


def transformers(every_seconds: float = 5) -> Any:
    """Returns a callback for the Trainer of Hugging Face. It reports the global step, what is logged, and each checkpoint."""
    from transformers import TrainerCallback  # pyright: ignore[reportMissingImports]

    class Progress(TrainerCallback):  # type: ignore[misc]
        def __init__(self) -> None:
            self.pace = _Pace(every_seconds)

        def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            report(state.global_step)

        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            if self.pace.is_due():
                report(state.global_step)

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
            report(state.global_step, **numbers(logs))

        def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            report(state.global_step, f"{args.output_dir}/checkpoint-{state.global_step}")

        def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            report(state.global_step)

    return Progress()


def keras(every_seconds: float = 5) -> Any:
    """Returns a callback for Model.fit of Keras. It reports the iterations of the optimizer, and what is logged."""
    try:
        from keras.callbacks import Callback  # pyright: ignore[reportMissingImports]
    except ImportError:
        from tensorflow.keras.callbacks import Callback  # pyright: ignore[reportMissingImports]

    class Progress(Callback):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.pace = _Pace(every_seconds)

        def on_train_begin(self, logs: Any = None) -> None:
            report()

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            if self.pace.is_due():
                self.tell(logs)

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            self.tell(logs)

        def tell(self, logs: Any) -> None:
            report(int(self.model.optimizer.iterations), **numbers(logs))

    return Progress()
