"""What it costs to tokenize a large text file, and to train on it: seconds, tokens/s, memory.

    python benchmarks/token_cache.py --megabytes 1000

A text is made of the words of Python's standard library, as often as they occur there, with new
numbers among them. Each step is a process of its own, as a user would start it; its peak of
resident memory is told as the excess over a process that only imports what the others do. Mapped
pages of the token files count as resident.
"""

import argparse
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np

WORDS_AT_ONCE = 200_000
SHARE_OF_NUMBERS = 0.01

IMPORTS = "import andrea_exp, andrea_exp.walk, andrea_exp.data.text, andrea_exp.tokenizer.bpe"
LOAD = f"""
import sys
{IMPORTS}
import time
began = time.perf_counter()
data = andrea_exp.compose(*sys.argv[1:]).load_data()
print(data.train_tokens + len(data.validation()), time.perf_counter() - began)
"""
TRAIN = f"{IMPORTS}; import sys; from andrea_exp.__main__ import main; sys.exit(main(sys.argv[1:]))"


class Cost(NamedTuple):
    """What one process took."""

    seconds: float
    peak_mb: float
    output: str


def main() -> None:
    """Make the text, then measure each tokenizer."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=1000, help="size of the text")
    parser.add_argument("--tokenizers", nargs="+", default=["bytes", "bpe_8449"])
    parser.add_argument("--steps", type=int, default=200, help="training steps")
    parser.add_argument("--one-line", action="store_true", help="without a single line end")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        text = Path(scratch) / "text.txt"
        began = time.perf_counter()
        make_text(text, megabytes=arguments.megabytes, one_line=arguments.one_line)
        print(f"{text.stat().st_size / 1e6:,.0f} MB made in {time.perf_counter() - began:.0f} s")
        imports = measure(IMPORTS, [], scratch=scratch)
        print(f"imports: {imports.seconds:.1f} s, {imports.peak_mb:,.0f} MB")
        for tokenizer in arguments.tokenizers:
            words = ["data=text", f"data.path={text}", f"tokenizer={tokenizer}"]
            made = measure(LOAD, words, scratch=scratch)
            again = measure(LOAD, words, scratch=scratch)
            training = [*words, f"trainer.max_steps={arguments.steps}", "logger.mode=disabled"]
            trained = measure(TRAIN, training, scratch=scratch)
            tokens, seconds = map(float, made.output.split())
            hashing = float(again.output.split()[1])
            print(
                f"{tokenizer}: {tokens:,.0f} tokens in {seconds - hashing:.1f} s, "
                f"{tokens / (seconds - hashing):,.0f} tokens/s; {hashing:.1f} s to find them again"
            )
            steps = {"tokenizing": made, "out of the cache": again, "training": trained}
            for name, cost in steps.items():
                excess = cost.peak_mb - imports.peak_mb
                print(f"  {name}: {cost.seconds:.1f} s, peak {excess:,.0f} MB beyond imports")


def make_text(path: Path, *, megabytes: int, one_line: bool) -> None:
    """Write the text; the same one for the same Python."""
    folder = Path(sysconfig.get_path("stdlib"))
    sources = [
        source.read_text(encoding="utf-8", errors="ignore") for source in folder.glob("*.py")
    ]
    counts = Counter(re.findall(r"\S+\s*", "".join(sorted(sources))))
    words = np.array([" ".join(word.split()) + " " if one_line else word for word in counts])
    shares = np.array(list(counts.values())) / counts.total()
    rng = np.random.default_rng(0)
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < megabytes * 1_000_000:
            drawn = rng.choice(words, size=WORDS_AT_ONCE, p=shares).astype(object)
            numbers = rng.integers(10**9, size=int(SHARE_OF_NUMBERS * WORDS_AT_ONCE))
            drawn[rng.integers(WORDS_AT_ONCE, size=len(numbers))] = [f"{n} " for n in numbers]
            file.write("".join(drawn))


def measure(code: str, words: list[str], *, scratch: str) -> Cost:
    """Run code in a process of its own, which keeps its cache and results in `scratch`."""
    environment = {**os.environ, "ANDREA_EXP_CACHE": f"{scratch}/cache"}
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words],
        cwd=scratch,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"a process failed: {words}\n{output}")
    kilobytes = usage.ru_maxrss / (1024 if sys.platform == "darwin" else 1)
    return Cost(time.perf_counter() - began, kilobytes / 1000, output)


if __name__ == "__main__":
    main()
