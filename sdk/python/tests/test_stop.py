import os
import tempfile
import unittest
from unittest import mock

import trainingjob as tj


class ShouldStop(unittest.TestCase):
    def test_a_training_that_no_job_runs_is_asked_nothing(self):
        with mock.patch.dict(os.environ):
            os.environ.pop("TRAININGJOB_CHECKPOINT_REQUEST_FILE", None)
            self.assertIsNone(tj.should_stop())

    def test_it_says_what_the_file_says(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "stop")
            with mock.patch.dict(os.environ, TRAININGJOB_CHECKPOINT_REQUEST_FILE=path, TRAININGJOB_ATTEMPT="2"):
                self.assertIsNone(tj.should_stop(), "no file")
                for text, want in {"": None, "\n": None, "2-1767614425 SuspendedBySpec 2026-01-05T12:00:25Z": "2-1767614425",
                                   "2-1767614425 SuspendedBySpec 2026-01-05T12:00:25Z again": "2-1767614425",
                                   "1-1767614400 RestartRequested 2026-01-05T12:00:00Z": None}.items():
                    with open(path, "w", encoding="utf-8") as file:
                        file.write(text)
                    self.assertEqual(tj.should_stop(), want, text)
