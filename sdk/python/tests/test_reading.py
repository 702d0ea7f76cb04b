"""A log is read to its end, no line lost and none twice, while the connection breaks at any byte of it."""

import random
import unittest

from trainingjob.errors import ApiError
from trainingjob.pods import Container, Life
from trainingjob.reading import Reader, Source

BROKE = ApiError(0, "no answer")


class Kubelet:
    """Plays the kubelet with one container that says something in each turn and ends; it breaks off where chance says."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.lives = [[self.said(life, n) for n in range(self.chance.randint(1, 30))] for life in range(self.chance.choice((1, 1, 2)))]
        self.life = 0  # which start of the container runs
        self.shown = 0  # which one the status shows: of one that was told to restart it may lag behind
        self.told = 0  # how many of its lines are in its log
        self.ended = False
        self.unfinished = self.chance.random() < 0.5  # whether its last line has no end
        self.quiet = False  # whether it has broken off without a word
        self.in_place = self.chance.random() < 0.5  # whether it is told to restart, and begins another life

    def said(self, life, number):
        return f"life {life} line {number}"

    def all(self):
        return [(self.in_place and life, line) for life, lines in enumerate(self.lives) for line in lines]

    def stamp(self, life, number):
        """Several lines may have the same time; fractions have any number of digits, or none."""
        ticks = number // 2
        fraction = ("", ".5", ".50001", ".600000001")[ticks % 4]
        return f"2026-01-01T{life:02d}:00:{ticks // 4:02d}{fraction}Z"

    def look(self):
        told = self.in_place and self.shown + 1 < len(self.lives) and (self.shown < self.life or self.told == len(self.lives[self.life]))
        lives = [Life(self.in_place and n, 0) for n in (self.shown, self.shown - 1)]
        return Container(True, self.ended, self.shown, restarting=told, life=lives[0], before=lives[1])

    def go_on(self):
        self.shown = self.life
        lines = self.lives[self.life]
        self.told = min(len(lines), self.told + self.chance.randint(0, 5))
        if self.told < len(lines):
            return
        if self.life + 1 < len(self.lives):
            if self.chance.random() < 0.3:
                self.life, self.told = self.life + 1, self.chance.randint(0, 1)
                if not self.in_place:
                    self.shown = self.life
        elif self.chance.random() < 0.5:
            self.ended = True

    def open(self, query):
        before = query["previous"] == "true"
        life = self.life - 1 if before else self.life
        told = len(self.lives[life]) if before else self.told
        lines = [(self.stamp(life, n), line) for n, line in enumerate(self.lives[life][:told])]
        lines = [f"{at} {line}\n" for at, line in lines if at[:19] + "Z" >= query.get("sinceTime", "")]
        text = "".join(lines).encode()
        last = life == len(self.lives) - 1 and told == len(self.lives[life])
        if self.unfinished and last:
            text = text[:-1]
        fate = self.chance.random()
        cut = self.chance.randint(0, len(text)) if fate < 0.4 or fate < 0.5 and not self.quiet else len(text)
        self.quiet = 0.4 <= fate < 0.5  # twice in a row nobody could tell that from an end
        half = self.chance.randint(0, cut)
        yield text[:half]
        yield text[half:cut]
        if fate < 0.4:
            raise BROKE
        if 0.4 < fate < 0.5 and not before and not self.ended:
            return  # it looks like an end


class Reading(unittest.TestCase):
    def read(self, seed):
        kubelet, got = Kubelet(seed), []
        source = Source(kubelet.open, kubelet.look, kubelet.go_on)
        gap = Reader(source, lambda at, text, life: got.append((life.attempt, text))).follow()
        return kubelet, got, gap

    def test_every_line_comes_once(self):
        for seed in range(1000):
            with self.subTest(seed=seed):
                kubelet, got, gap = self.read(seed)
                self.assertEqual(got, kubelet.all())
                self.assertEqual(gap, "")

    def test_a_pod_that_is_gone_unread_is_told(self):
        source = Source(lambda query: iter(()), lambda: Container(started=True, gone=True), lambda: None)
        self.assertIn("gone before its log could be read", Reader(source, lambda at, text, life: None).follow())

    def test_no_permission_is_told_at_once(self):
        def refused(query):
            raise ApiError(403, "may not read pods/log")
        source = Source(refused, lambda: Container(started=True), lambda: self.fail("it waited"))
        self.assertEqual(Reader(source, lambda at, text, life: None).follow(), "may not read pods/log")


if __name__ == "__main__":
    unittest.main()
