"""python -m trainingjob submit FILE --wait, python -m trainingjob wait NAME: for shells and pipeline steps."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any, Callable, Sequence

from .client import Client
from .errors import JobFailed, TrainingJobError


def main(argv: Sequence[str] | None = None, connect: Callable[[Any], Client] = Client) -> int:
    """Returns the exit status: 0 if all went well, 1 if not; argparse itself exits with 2 on wrong usage."""
    args = _parser().parse_args(argv)
    try:
        args.run(args, connect)
    except JobFailed as error:
        return _complain(f"{error}{_where(error.last_failure)}")
    except (TrainingJobError, TimeoutError, ValueError, OSError) as error:
        return _complain(error)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m trainingjob", description="Submit TrainingJobs and wait for them.",
                                     epilog="Exit status: 0 success; 1 the job failed, time ran out or the API "
                                            "server refused; 2 wrong usage.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    submit = commands.add_parser("submit", help="create the job of a file, print its name")
    submit.add_argument("file", metavar="FILE", help="YAML or JSON with one TrainingJob; - for standard input")
    submit.add_argument("--wait", action="store_true", help="then do as the command wait")
    submit.set_defaults(run=_submit)
    wait = commands.add_parser("wait", help="wait until a job has finished, print a line per change of phase")
    wait.add_argument("name", metavar="NAME")
    wait.set_defaults(run=_wait)
    for command, default in ((submit, "the file's, else kubectl's"), (wait, "kubectl's")):
        command.add_argument("-n", "--namespace", help=f"default: {default}")
        command.add_argument("--timeout", type=float, metavar="SECONDS", help="of waiting; default: none")
    return parser


def _submit(args: argparse.Namespace, connect: Callable[[Any], Client]) -> None:
    job = _read(args.file)
    client = connect(args.namespace or job.get("metadata", {}).get("namespace"))
    name = client.submit(job)
    print(name, flush=True)
    if args.wait:
        _follow(client, name, args.timeout)


def _wait(args: argparse.Namespace, connect: Callable[[Any], Client]) -> None:
    _follow(connect(args.namespace), args.name, args.timeout)


def _follow(client: Client, name: str, timeout_seconds: float | None) -> None:
    client.wait(name, timeout_seconds, lambda status: print(_line(status), flush=True))


def _read(path: str) -> dict:
    with (sys.stdin if path == "-" else open(path, encoding="utf-8")) as file:
        text = file.read()
    try:
        jobs = [json.loads(text)]
    except ValueError:
        import yaml  # comes with the kubernetes package
        try:
            jobs = [document for document in yaml.safe_load_all(text) if document]
        except yaml.YAMLError as error:
            raise ValueError(f"{path} is neither YAML nor JSON: {error}") from None
    if len(jobs) != 1 or not isinstance(jobs[0], dict):
        raise ValueError(f"{path} has {len(jobs)} documents: write one TrainingJob")
    return jobs[0]


def _line(status: Any) -> str:
    return ": ".join(status[key] for key in ("phase", "reason", "message") if status.get(key))


def _where(failure: Any) -> str:
    if not failure:
        return ""
    code = f", exit code {failure['exitCode']}" if "exitCode" in failure else ""
    said = f": {failure['message']}" if failure.get("message") else ""
    return f"\nfirst failure: pod {failure.get('pod')} on node {failure.get('node')}, {failure.get('reason')}{code}{said}"


def _complain(error: object) -> int:
    print(f"error: {error}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
