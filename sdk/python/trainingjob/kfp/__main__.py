"""python -m trainingjob.kfp: a step of a workflow of Argo, as component.yaml has it for kfp 1.8. It needs no kfp."""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
from typing import Any, Dict, Sequence, Tuple

from ..errors import TrainingJobError
from . import launch, step
from .termination import ON_TERMINATION, Terminated

OUTPUTS = ("name", "phase", "duration_seconds", "restarts", "metrics")


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit status: 0 if the job has succeeded, 1 if not, 143 if the step was terminated; 2 is wrong usage."""
    args = _parser().parse_args(argv)
    try:
        outcome = step.run(args.name, args.job, args.namespace, args.on_termination, (args.run, args.task))
    except (TrainingJobError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except Terminated:
        return 143
    _write(outcome, args.write)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m trainingjob.kfp", description="Run a TrainingJob as a step of a workflow.")
    parser.add_argument("--name", required=True, help="the beginning of the job's name")
    parser.add_argument("--job", required=True, type=_manifest, help="the manifest of the job, as JSON")
    parser.add_argument("--run", required=True, help="what identifies the run: {{workflow.uid}}")
    parser.add_argument("--task", required=True, help="what identifies the step in its run, the same in each try: {{node.name}}")
    parser.add_argument("--namespace", default="", help="where the job runs; default: the namespace of the step")
    parser.add_argument("--on-termination", choices=ON_TERMINATION, default="suspend",
                        help="what becomes of the job when the step is terminated; default: suspend")
    parser.add_argument("--write", action="append", default=[], type=_output, metavar="OUTPUT=FILE",
                        help=f"a file for an output: {', '.join(OUTPUTS)}")
    return parser


def _manifest(text: str) -> Dict[str, Any]:
    try:
        job = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"it is no JSON: {error}") from None
    if not isinstance(job, dict) or "replicaSpecs" not in job.get("spec", {}):
        raise argparse.ArgumentTypeError("it has no spec.replicaSpecs: write the manifest of a TrainingJob")
    return job


def _output(text: str) -> Tuple[str, str]:
    output, _, file = text.partition("=")
    if output not in OUTPUTS or not file:
        raise argparse.ArgumentTypeError(f"write OUTPUT=FILE, where OUTPUT is {', '.join(OUTPUTS)}")
    return output, file


def _write(outcome: launch.Outcome, files: Sequence[Tuple[str, str]]) -> None:
    """Writes the outputs; metrics in the form that Pipelines show."""
    metrics = [{"name": name.replace("_", "-"), "numberValue": value, "format": "RAW"} for name, value in outcome.metrics.items()]
    texts = {**outcome._asdict(), "metrics": json.dumps({"metrics": metrics})}
    for output, file in files:
        path = pathlib.Path(file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(texts[output]), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
