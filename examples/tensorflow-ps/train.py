"""Trains a linear model with TensorFlow's ParameterServerStrategy.

Every replica runs this file, and TF_CONFIG, which the operator sets, says who it is: servers keep the variables, the
chief hands out steps, workers compute them. The chief goes on when a worker is lost, and the operator replaces that
worker alone. When a server is lost, all of them start again from the newest checkpoint.
"""
import json
import os
import signal
import sys
import time

signal.signal(signal.SIGTERM, lambda *_: os._exit(143))  # until the training begins there is nothing to save
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
os.environ["GRPC_FAIL_FAST"] = "use_caller"  # as ParameterServerStrategy needs it: wait for peers that start later
import tensorflow as tf

try:
    from trainingjob import report  # sdk/python/trainingjob/reporting.py, copied beside this file as trainingjob.py
except ImportError:
    def report(*_, **__):
        """Without the SDK nothing is reported."""


STEPS = int(os.environ.get("STEPS", "1200"))  # of all workers together
PACE = float(os.environ.get("PACE", "0.1"))  # seconds between two steps of a worker, on average
ROUND = 20  # steps between two lines of the log
SAVE_EVERY = 100
CHECKPOINTS = os.environ.get("CHECKPOINTS", "/checkpoints")
GOOD_LOSS = 0.02  # half of it is noise in the data
FEATURES = 20

cluster = json.loads(os.environ["TF_CONFIG"])["cluster"]
attempt = int(os.environ["TRAININGJOB_ATTEMPT"])
life = int(os.environ["TRAININGJOB_LIFE"])
told_to_end = False


def say(*words):
    world = sum(map(len, cluster.values()))
    print(f"rank={os.environ['TRAININGJOB_RANK']} world={world} attempt={attempt}", *words, flush=True)


def on_sigterm(*_):
    global told_to_end  # looked at between two rounds
    told_to_end = True


def serve(me):
    """Runs a worker or a server until the operator ends it."""
    server = tf.distribute.Server(me.cluster_spec(), job_name=me.task_type, task_index=me.task_id, protocol="grpc")
    say(me.task_type, me.task_id, "serves", server.target)
    while True:
        signal.pause()  # not server.join(): no handler of SIGTERM would run in it


def batch(random, size):
    """Random inputs, and what the true weights 0, 1/20, 2/20 ... and the bias 1 make of them, with noise."""
    x = random.normal([size, FEATURES])
    return x, tf.linalg.matvec(x, tf.range(FEATURES, dtype=tf.float32) / FEATURES) + 1 + 0.1 * random.normal([size])


def restore(checkpoint):
    """Loads the newest checkpoint. Each life has a folder: what an earlier one writes late is never the newest."""
    folders = sorted(tf.io.gfile.glob(f"{CHECKPOINTS}/*"))
    newest = [saved for saved in map(tf.train.latest_checkpoint, folders) if saved]
    if newest:
        checkpoint.restore(newest[-1])
    return newest[-1] if newest else "nothing"


def coordinate(me):
    say("waits for servers and workers")
    report()  # from now on a hang is found
    strategy = tf.distribute.ParameterServerStrategy(me)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    say("met servers and workers")
    with strategy.scope():  # puts variables on the servers in turn
        weights, bias = tf.Variable(tf.zeros([FEATURES])), tf.Variable(0.0)
        step = tf.Variable(0, dtype=tf.int64)
    checkpoint = tf.train.Checkpoint(weights=weights, bias=bias, step=step)
    manager = tf.train.CheckpointManager(checkpoint, f"{CHECKPOINTS}/{life:012d}", max_to_keep=2)
    source = restore(checkpoint)
    done = int(step.numpy())
    say(f"step={done} starts from", source)

    def loss_of(x, y):
        return tf.reduce_mean((tf.linalg.matvec(x, weights) + bias - y) ** 2)

    @tf.function
    def train():
        x, y = batch(tf.random, 64)
        with tf.GradientTape() as tape:
            loss = loss_of(x, y)
        for variable, gradient in zip((weights, bias), tape.gradient(loss, (weights, bias))):
            variable.assign_sub(0.01 * gradient)
        step.assign_add(1)
        return loss

    signal.signal(signal.SIGTERM, on_sigterm)
    while done < STEPS and not told_to_end:
        losses = [coordinator.schedule(train) for _ in range(ROUND)]
        coordinator.join()  # a worker that is lost meanwhile does not count: others take over its steps
        done = int(step.numpy())
        loss = float(losses[-1].fetch())
        say(f"step={done} loss={loss:.4f}")
        report(done, loss=loss)
        if done % SAVE_EVERY < ROUND:
            say(f"step={done} saved", manager.save())
        time.sleep(PACE * ROUND / len(cluster["worker"]))
    say(f"step={done} saved", manager.save())
    if done < STEPS:
        os._exit(143)
    loss = float(loss_of(*batch(tf.random.Generator.from_seed(1), 1000)))
    say(f"step={done} done loss={loss:.4f}")
    os._exit(0 if loss < GOOD_LOSS else 1)  # at once: threads that talk to the servers would wait for them


resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
serve(resolver) if resolver.task_type in ("worker", "ps") else coordinate(resolver)
