"""Feeds the product what strangers may: `make fuzz CASES=10000 SEED=0`, or `python tests/trust/fuzz.py --cases 10000`.

Every case is made from (seed, number) and handled in a forked worker with a limit of memory and of time. It ends as

- fine: accepted, and what was read is what the file says;
- refused: one `InputError` of at most 600 characters;
- bad: a traceback, a crash, a hang, too much memory, too long a message, or a silently wrong result.

A kind of which not one of `MANY` cases was accepted is bad as well: it tests nothing. The exit status is 1 where anything
is bad. `--only NUMBER` runs one case in this process, with its traceback.
"""

import argparse
import faulthandler
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import torch
from figures import store
from fuzz_graphs import GRAPHS
from fuzz_mutations import LONGEST, Case, Refused, Wrong
from fuzz_objects import OBJECTS
from fuzz_runs import RUNS, finished

from ansgt.errors import InputError

CASES: dict[str, Case] = {**GRAPHS, **RUNS, **OBJECTS}
GOOD = ("fine", "refused")
BAD = ("traceback", "crash", "hang", "memory", "long", "wrong")
MOST_MEMORY, MOST_SECONDS = 4 * 2**30, 60.0
MANY = 300
PATIENCE = 10
"""A case hangs after `MOST_SECONDS` of its worker's CPU time, or after this many times as long: machines may be busy."""


@dataclass(frozen=True)
class Verdict:
    """How one case ended."""

    number: int
    kind: str
    answer: str
    detail: str = ""

    @property
    def is_bad(self) -> bool:
        return self.answer not in GOOD


def kind_of(number: int, kinds: Sequence[str]) -> str:
    return kinds[number % len(kinds)]


def judge(seed: int, number: int, kinds: Sequence[str]) -> Verdict:
    """Runs one case in this process."""
    kind = kind_of(number, kinds)
    rng = np.random.default_rng([seed, number])
    with (
        tempfile.TemporaryDirectory(prefix="ansgt-fuzz-", ignore_cleanup_errors=True) as folder,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        try:
            CASES[kind](rng, Path(folder))
        except InputError as error:
            long = len(str(error)) > LONGEST or "\n" in str(error)
            return Verdict(number, kind, "long" if long else "refused", str(error) if long else "")
        except Refused as error:
            long = len(str(error)) > LONGEST
            return Verdict(number, kind, "long" if long else "refused", str(error)[-300:] if long else "")
        except Wrong as error:
            return Verdict(number, kind, "wrong", str(error))
        except MemoryError:
            return Verdict(number, kind, "memory", last_line())
        except BaseException as error:  # whatever leaves the product is a finding
            memory = "alloc" in str(error)
            return Verdict(number, kind, "memory" if memory else "traceback", last_line())
    return Verdict(number, kind, "fine")


def last_line() -> str:
    """Type, message and our own line nearest to the exception."""
    kind, error, trace = sys.exc_info()
    ours = [frame for frame in traceback.extract_tb(trace) if "/ansgt/" in frame.filename]
    place = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "?"
    return f"{kind.__name__ if kind else ''}: {' '.join(str(error).split())[:150]} ({place})"


def work(seed: int, numbers: range, kinds: Sequence[str], pipe: Connection) -> None:
    """A worker: cases in turn, each announced before it starts."""
    with open("/proc/self/statm") as stream:
        base = int(stream.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (base + MOST_MEMORY, base + MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.disable()  # pytest's: a crash is told by the parent
    sys.stderr = sys.stdout = open(os.devnull, "w")  # noqa: SIM115 (as long as the worker lives)
    for number in numbers:
        pipe.send(number)
        pipe.send(judge(seed, number, kinds))
    pipe.send(None)


def run(seed: int, numbers: range, kinds: Sequence[str] = tuple(CASES)) -> Iterator[Verdict]:
    """All cases; a worker that dies or hangs is replaced, and its case is bad."""
    if set(kinds) & set(RUNS):
        finished()  # once, for all workers
    torch.set_num_threads(1)
    context = multiprocessing.get_context("fork")
    following = numbers.start
    while following < numbers.stop:
        receiver, sender = context.Pipe(duplex=False)
        worker = context.Process(target=work, args=(seed, range(following, numbers.stop), kinds, sender))
        worker.start()
        sender.close()
        answer, waited, spent = "", 0, 0.0
        while not answer:
            try:
                if not receiver.poll(MOST_SECONDS):
                    waited += 1
                    if waited < PATIENCE and seconds_of(worker.pid) - spent < MOST_SECONDS:
                        continue
                    answer = "hang"
                    break
                message, waited, spent = receiver.recv(), 0, seconds_of(worker.pid)
            except EOFError:
                answer = "crash"
                break
            if message is None:
                following = numbers.stop
                break
            if isinstance(message, Verdict):
                yield message
                following = message.number + 1
        if worker.is_alive():
            os.kill(worker.pid or 0, signal.SIGKILL) if answer == "hang" else worker.join(5)
        worker.join()
        if answer:
            yield Verdict(following, kind_of(following, kinds), answer, f"exit code {worker.exitcode}")
            following += 1


def seconds_of(process: int | None) -> float:
    """CPU time of a process; 0 where the system does not say."""
    try:
        words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="one case, in this process")
    parser.add_argument("--kinds", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--record", action="store_true", help="stores the counts for docs/trust.md")
    asked = parser.parse_args()
    if asked.only is not None:
        with tempfile.TemporaryDirectory() as folder:
            CASES[kind_of(asked.only, asked.kinds)](
                np.random.default_rng([asked.seed, asked.only]), Path(folder)
            )
        return 0
    start = time.perf_counter()
    counts: Counter[tuple[str, str]] = Counter()
    for verdict in run(asked.seed, range(asked.cases), asked.kinds):
        counts[verdict.kind, verdict.answer] += 1
        if verdict.is_bad:
            print(
                f"bad: case {verdict.number} ({verdict.kind}): {verdict.answer}: {verdict.detail}", flush=True
            )
    print(f"{'kind':<18}" + "".join(f"{answer:>10}" for answer in (*GOOD, *BAD)))
    for kind in asked.kinds:
        print(f"{kind:<18}" + "".join(f"{counts[kind, answer]:>10}" for answer in (*GOOD, *BAD)))
    bad = sum(count for (_, answer), count in counts.items() if answer not in GOOD)
    for kind in asked.kinds:
        if not counts[kind, "fine"] and sum(counts[kind, answer] for answer in (*GOOD, *BAD)) >= MANY:
            print(f"bad: no case of {kind} was accepted")
            bad += 1
    print(f"{asked.cases} cases, seed {asked.seed}: {bad} bad, {time.perf_counter() - start:.0f} s")
    if asked.record:
        ends: Counter[str] = Counter()
        for (_, answer), count in counts.items():
            ends[answer] += count
        tried = f"{asked.cases} inputs of {len(asked.kinds)} kinds: {ends['fine']} taken, {ends['refused']} refused"
        store(f"make fuzz CASES={asked.cases} SEED={asked.seed}", tried, f"{bad} bad answers")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
