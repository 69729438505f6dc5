# SPDX-License-Identifier: Apache-2.0
"""The real job on real input: handwritten digits, stored as records of 64 features, and
classified from the store by a model that was fitted in memory."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.svm import SVC

import aeroloop
import data
import terminal

SET = "aeroloop_digits"
REQUEST = 30  # digits that one request classifies


def keys(numbers: range) -> list[data.Key]:
    return [(data.NAMESPACE, SET, number) for number in numbers]


def features(client: aeroloop.Client, batch: list[data.Key]) -> np.ndarray:
    """Read a batch as a matrix; no value is copied or converted on the way."""
    answer = client.batch_read(batch).to_numpy(data.FEATURE_DTYPE)
    if answer.result_codes.any():
        raise SystemExit("a digit is missing from the store")
    return answer.batch_records.view(np.float32).reshape(-1, len(data.FEATURES))


def store(client: aeroloop.Client, images: np.ndarray) -> None:
    numbers = keys(range(len(images)))
    pairs = list(zip(numbers, images.tolist(), strict=True))
    steps = [pairs[start : start + 100] for start in range(0, len(pairs), 100)]
    for step in terminal.progress(steps, len(pairs), "digits stored"):
        for key, image in step:
            client.put(key, dict(zip(data.FEATURES, image, strict=True)))


def classify(
    client: aeroloop.Client, model: Any, numbers: range
) -> tuple[np.ndarray, float, float]:
    """Return the answers, the requests per second, and the share of the reads."""
    batches = [
        keys(numbers[start : start + REQUEST])
        for start in range(0, len(numbers), REQUEST)
    ]
    answers, reading = [], 0.0
    begin = time.perf_counter()
    for batch in batches:
        start = time.perf_counter()
        matrix = features(client, batch)
        reading += time.perf_counter() - start
        answers.append(model.predict(matrix))
    total = time.perf_counter() - begin
    return np.concatenate(answers), len(batches) / total, reading / total


def show(client: aeroloop.Client) -> None:
    images, labels = load_digits(return_X_y=True)
    half = len(images) // 2
    tests = range(half, len(images))

    store(client, images)
    model = SVC(gamma=0.001).fit(images[:half].astype(np.float32), labels[:half])
    expected = model.predict(images[half:].astype(np.float32))
    answers, rate, share = classify(client, model, tests)

    memory = float((expected == labels[half:]).mean())
    stored = float((answers == labels[half:]).mean())
    terminal.line(f"accuracy fed from memory     {memory:.4f}")
    terminal.line(f"accuracy fed from the store  {stored:.4f}")
    terminal.line(
        f"{rate:,.0f} requests/s of {REQUEST} digits each; "
        f"{share:.0%} of the time is the batch read, the rest the model"
    )
    if not np.array_equal(answers, expected):
        raise SystemExit("the store changed an answer of the model")


def remove(client: aeroloop.Client) -> None:
    for key in keys(range(len(load_digits().target))):
        client.remove(key)
