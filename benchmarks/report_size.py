"""What a report of many runs costs: seconds, bytes and memory.

    python -m benchmarks.report_size --runs 1000

The runs are synthetic: 5 position schemes x 2 outputs x seeds. The report is built as a user would
start it, in a process of its own; processor seconds tell on a busy machine what clock seconds do
not. With `--sections` the time of each section is printed too.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from andrea_exp.report.page import SECTIONS, read
from andrea_exp.report.table import table_of
from benchmarks.synthetic_runs import SCHEMES, make_run

OUTPUTS = ("tied", "untied")


def main() -> None:
    """Make the runs, build their report, and print what that took."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000, help="a multiple of 10")
    parser.add_argument("--sections", action="store_true", help="also time each section")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = make_runs(Path(scratch) / "sweep", number=arguments.runs)
        print(f"{arguments.runs} runs: {build(folder)}", flush=True)
        if arguments.sections:
            sections(folder)


def make_runs(folder: Path, *, number: int) -> Path:
    """As many completed runs, in a new folder."""
    for seed in range(number // (len(SCHEMES) * len(OUTPUTS))):
        for position in SCHEMES:
            for output in OUTPUTS:
                make_run(folder, position=position, output=output, seed=seed, name="sweep")
    return folder


def build(folder: Path) -> str:
    """What `python -m andrea_exp.report` took for a folder, in words."""
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "andrea_exp.report", str(folder)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    clock = time.perf_counter() - began
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    size = (folder / "report.html").stat().st_size
    return (
        f"{clock:.1f} s by the clock, {used.ru_utime + used.ru_stime:.1f} s of processor time, "
        f"{size / 1e6:.2f} MB, at most {used.ru_maxrss / 1024:.0f} MiB of memory"
    )


def sections(folder: Path) -> None:
    """Print the processor seconds of the reading and of every section."""
    began = time.process_time()
    found = read([folder])
    print(f"{'reading':12}{time.process_time() - began:6.2f} s")
    began = time.process_time()
    table = table_of(found)
    print(f"{'table':12}{time.process_time() - began:6.2f} s")
    for section in SECTIONS:
        began = time.process_time()
        html = section.html(table)
        seconds = time.process_time() - began
        print(f"{section.key:12}{seconds:6.2f} s{len(html) / 1e6:8.2f} MB", flush=True)


if __name__ == "__main__":
    main()
