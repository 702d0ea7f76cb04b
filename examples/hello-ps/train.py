"""Trains a linear model with parameter servers, in Python's standard library alone.

Every replica runs this file. TF_CONFIG, which the operator sets, says who it is and where its peers are:

  ps      keeps a part of the weights, subtracts the gradients that workers send, and saves the weights
  worker  fetches the weights, computes the gradient of a batch, sends it, and does not wait for other workers

Worker 0 leads: it computes the final loss, and its exit code is the job's. A worker has nothing to lose, so the
operator replaces one that dies alone. When a parameter server dies, all replicas start again from what was saved.
"""
import http.client
import http.server
import json
import os
import random
import signal
import sys
import threading
import time

try:
    from trainingjob import report  # sdk/python/trainingjob/reporting.py, copied beside this file as trainingjob.py
except ImportError:
    def report(*_, **__):
        """Without the SDK nothing is reported."""


FEATURES = 20
STEPS = int(os.environ.get("STEPS", "3000"))  # of all workers together
PACE = float(os.environ.get("PACE", "0.05"))  # seconds between two steps of a worker
SAVE_EVERY = 100
CHECKPOINTS = os.environ.get("CHECKPOINTS", "/checkpoints")
GOOD_LOSS = 0.02  # half of it is noise in the data

cluster, task = (json.loads(os.environ["TF_CONFIG"])[key] for key in ("cluster", "task"))
index, servers = task["index"], cluster["ps"]
attempt = int(os.environ["TRAININGJOB_ATTEMPT"])
life = int(os.environ["TRAININGJOB_LIFE"])
who = f"{task['type']}-{index} rank={os.environ['TRAININGJOB_RANK']} world={sum(map(len, cluster.values()))} attempt={attempt}"


def say(*words):
    print(who, *words, flush=True)


class Shard:
    """The weights of one parameter server: those with the numbers index, index + servers, and so on."""

    def __init__(self):
        self.path = f"{CHECKPOINTS}/ps-{index}.json"
        self.lock = threading.Lock()
        self.step, self.weights = 0, [0.0] * len(range(index, FEATURES, len(servers)))
        if saved := self.saved():
            self.step, self.weights = saved["step"], saved["weights"]
        say(f"step={self.step} starts from", self.path if saved else "nothing")

    def saved(self):
        if os.path.exists(self.path):
            with open(self.path) as f:
                return json.load(f)

    def update(self, gradient):
        with self.lock:
            if gradient:
                self.weights = [w - 0.02 * g for w, g in zip(self.weights, gradient)]
                self.step += 1
                if self.step % SAVE_EVERY == 0:
                    self.save()
            return {"step": self.step, "weights": self.weights}

    def save(self):
        """Replaces the file in one step: whoever reads it sees the old weights or the new, never a part."""
        if (saved := self.saved()) and saved["life"] > life:
            say("does not save: a later life has begun")
            os._exit(1)
        with open(self.path + ".new", "w") as f:
            json.dump({"life": life, "step": self.step, "weights": self.weights}, f)
            f.flush()
            os.fsync(f.fileno())
        os.rename(self.path + ".new", self.path)
        say(f"step={self.step} saved")


def serve():
    shard = Shard()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            answer = json.dumps(shard.update(json.loads(body))).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    def stop(*_):
        with shard.lock:
            shard.save()
        sys.exit(143)

    signal.signal(signal.SIGTERM, stop)
    http.server.ThreadingHTTPServer(("", int(servers[index].split(":")[1])), Handler).serve_forever()


def send(server, gradient):
    """Returns the server's step and weights. A server that does not answer yet, or for a while, is asked again."""
    give_up = time.time() + 60
    while True:
        connection = http.client.HTTPConnection(server, timeout=5)
        try:
            connection.request("POST", "/", json.dumps(gradient))
            return json.load(connection.getresponse())
        except (OSError, http.client.HTTPException) as e:
            if time.time() > give_up:
                raise
            say("waits for", server, e)
            time.sleep(0.5)
        finally:
            connection.close()


def exchange(gradient):
    answers = [send(server, gradient[i :: len(servers)]) for i, server in enumerate(servers)]
    weights = [0.0] * FEATURES
    for i, answer in enumerate(answers):
        weights[i :: len(servers)] = answer["weights"]
    return answers[0]["step"], weights


def batch(rng, size):
    """Random inputs, and what the true weights 0, 1/20, 2/20 ... make of them, with noise."""
    for _ in range(size):
        x = [rng.gauss(0, 1) for _ in range(FEATURES)]
        yield x, sum(i / FEATURES * a for i, a in enumerate(x)) + rng.gauss(0, 0.1)


def errors(weights, examples):
    return [(x, sum(w * a for w, a in zip(weights, x)) - y) for x, y in examples]


def work():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # nothing to save: the servers have all of it
    rng, turn = random.Random(), 0
    report()  # from now on a hang is found
    step, weights = exchange([])
    while step < STEPS:
        wrong = errors(weights, batch(rng, 32))
        loss = sum(e * e for _, e in wrong) / len(wrong)
        report(step, loss=loss)
        if turn % 20 == 0:
            say(f"step={step} loss={loss:.4f}")
        step, weights = exchange([sum(2 * e * x[i] for x, e in wrong) / len(wrong) for i in range(FEATURES)])
        turn += 1
        time.sleep(PACE)
    if index == 0:
        wrong = errors(weights, batch(random.Random(1), 1000))
        loss = sum(e * e for _, e in wrong) / len(wrong)
        say(f"step={step} done loss={loss:.4f}")
        sys.exit(0 if loss < GOOD_LOSS else f"the loss should be below {GOOD_LOSS}")


serve() if task["type"] == "ps" else work()
