"""Trains a linear model with TensorFlow's MultiWorkerMirroredStrategy.

Every worker has all variables and computes its part of each batch; gradients are summed over the network. Who this worker
is and where the others are stands in TF_CONFIG, which the operator sets. The workers stand and fall together: when one
dies, the operator starts all of them again, and they go on from the newest checkpoint.
"""
import json
import os
import signal
import sys
import time

signal.signal(signal.SIGTERM, lambda *_: os._exit(143))  # until the training begins there is nothing to save
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import tensorflow as tf

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

config = json.loads(os.environ["TF_CONFIG"])
rank, world = config["task"]["index"], len(config["cluster"]["worker"])
attempt = int(os.environ["TRAININGJOB_ATTEMPT"])
life = int(os.environ["TRAININGJOB_LIFE"])
told_to_end = False


def say(*words):
    print(f"rank={rank} world={world} attempt={attempt}", *words, flush=True)


def on_sigterm(*_):
    global told_to_end  # looked at between two steps
    told_to_end = True


def batch(seed, size):
    """Random inputs, and what the true weights 0, 1/20, 2/20 ... make of them, with noise."""
    x = tf.random.stateless_normal([size, FEATURES], [seed, 0])
    noise = 0.1 * tf.random.stateless_normal([size], [seed, 1])
    return x, tf.linalg.matvec(x, tf.range(FEATURES, dtype=tf.float32) / FEATURES) + noise


def restore(checkpoint):
    """Loads the newest checkpoint. Each life has a folder: what an earlier one writes late is never the newest."""
    folders = sorted(tf.io.gfile.glob(f"{CHECKPOINTS}/[0-9]*"))
    newest = [saved for saved in map(tf.train.latest_checkpoint, folders) if saved]
    if newest:
        checkpoint.restore(newest[-1])
    return newest[-1] if newest else "nothing"


def main():
    say("waits for the other workers")
    report()  # from now on a hang is found
    strategy = tf.distribute.MultiWorkerMirroredStrategy()  # reads TF_CONFIG
    say("met the other workers")
    with strategy.scope():
        weights = tf.Variable(tf.zeros([FEATURES]))
        step = tf.Variable(0, dtype=tf.int64)
    checkpoint = tf.train.Checkpoint(weights=weights, step=step)
    # All workers must save, as saving may use the network; what others than worker 0 write is of no use.
    folder = f"{CHECKPOINTS}/{life:012d}" if rank == 0 else f"/tmp/checkpoints-{rank}"
    manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=2)
    source = restore(checkpoint)
    done = int(step.numpy())
    say(f"step={done} starts from", source)

    def loss_of(x, y):
        return tf.reduce_mean((tf.linalg.matvec(x, weights) - y) ** 2)

    def one_step(x, y):
        loss = loss_of(x, y)
        gradient = tf.reduce_mean(2 * (tf.linalg.matvec(x, weights) - y)[:, None] * x, axis=0)
        gradient = tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.MEAN, gradient)
        weights.assign_sub(0.02 * gradient)
        step.assign_add(1)
        return loss

    @tf.function
    def train(seed):
        return strategy.run(one_step, args=batch(seed, 64))

    signal.signal(signal.SIGTERM, on_sigterm)
    while done < STEPS and not told_to_end:
        loss = float(strategy.experimental_local_results(train(tf.constant(done * world + rank)))[0])
        done += 1
        say(f"step={done} loss={loss:.4f}")
        report(done, loss=loss)
        if done % SAVE_EVERY == 0 or done == STEPS:
            say(f"step={done} saved", manager.save())
        time.sleep(PACE)
    if done < STEPS:
        say(f"step={done} was told to end; the newest checkpoint is", manager.latest_checkpoint)
        os._exit(143)
    loss = float(loss_of(*batch(tf.constant(10**6), 1000)))
    say(f"step={done} done loss={loss:.4f}")
    os._exit(0 if loss < GOOD_LOSS else 1)  # at once: threads that talk to other workers would wait for them


main()
