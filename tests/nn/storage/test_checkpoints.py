"""Runs that are killed again and again, in the middle of whatever they do, are the run that was left alone."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn
from adjoint.optimize import updates
from tests.nn.training.test_fitting import cross_entropy, network, problem, same

KINDS = ("arrays", "maps", "parquet")
KILLS = 17  # of each kind

SCRIPT = """
import os, random, signal, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from tests.nn.storage.test_checkpoints import run_once
folder, kind, kills = Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
chance = random.Random(kind)
newest = lambda: max((path.name for path in folder.glob("run/step-*")), default="")
for _ in range(kills):
    before = newest()
    child = os.fork()
    if not child:
        run_once(str(folder), kind, str(folder / "run"), slowly=True)
        os._exit(3)
    while newest() == before:
        time.sleep(0.002)
    time.sleep(chance.uniform(0.0, 0.2))
    os.kill(child, signal.SIGKILL)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1]), "it came to its end before it was killed"
"""
END = """
import sys
sys.path.insert(0, sys.argv[1])
from tests.nn.storage.test_checkpoints import finish
finish(*sys.argv[2:])
"""


def source(folder: str, kind: str) -> Any:
    """The examples, from memory or from files that `write` made."""
    if kind == "arrays":
        return problem()
    if kind == "maps":
        return ad.data.memmap({name: f"{folder}/{name}.npy" for name in ("x", "y")})
    return ad.data.parquet(f"{folder}/xy.parquet")


def write(folder: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    columns = problem().columns
    for name, column in columns.items():
        np.save(folder / f"{name}.npy", column)
    table = pyarrow.table({"x": pyarrow.array(list(columns["x"])), "y": columns["y"]})
    pyarrow.parquet.write_table(table, folder / "xy.parquet", row_group_size=7)


def run_once(folder: str, kind: str, checkpoints: str | None, slowly: bool = False) -> nn.Run:
    """1200 steps with all that a checkpoint holds: a rule with memory, a schedule, an average, the best model."""
    import time

    pause = lambda now: time.sleep(0.04) if slowly else None
    rng, rule = ad.random.default_rng(0), updates.adamw(updates.cosine(0.02, 1200))
    files: dict[str, Any] = {"folder": checkpoints, "every": 3, "resume": True} if checkpoints else {}
    return nn.fit(network(), cross_entropy, source(folder, kind), rule, epochs=150, batch=8, rng=rng,
                  average=0.99, validation=problem(20, 1), metrics={"accuracy": nn.accuracy}, compile=False,
                  callback=pause, **files)  # fmt: skip


def finish(folder: str, kind: str) -> None:
    run = run_once(folder, kind, folder + "/run")
    nn.save(folder + "/end.safetensors", {"state": run.state, "model": run.model})
    Path(folder, "history.json").write_text(json.dumps([run.history.rows, run.history.steps, run.best, run.status]))


def start(text: str, *arguments: Any) -> str:
    root = str(Path(__file__).parents[3])
    call = [sys.executable, "-c", text, root, *map(str, arguments)]
    return subprocess.run(call, check=True, stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "PYTHONPATH": f"{root}/src"}).stdout  # fmt: skip


@pytest.mark.sweep
@pytest.mark.parametrize("kind", KINDS)
def test_killed_again_and_again(kind: str, tmp_path: Path) -> None:
    write(tmp_path)
    start(SCRIPT, tmp_path, kind, KILLS)
    start(END, tmp_path, kind)
    whole = run_once(str(tmp_path), "arrays", None)
    found = nn.load(tmp_path / "end.safetensors", like={"state": whole.state, "model": whole.model})
    assert same(found, {"state": whole.state, "model": whole.model})
    rows, steps, best, status = json.loads((tmp_path / "history.json").read_text())
    assert whole.best is not None
    assert (rows, steps) == (whole.history.rows, whole.history.steps)
    assert (tuple(best), status) == (whole.best, "done")
    assert len(list((tmp_path / "run").glob("step-*"))) == 3
