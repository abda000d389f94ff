#!/usr/bin/env python3
"""Times the transforms of necklace-fft beside FFTW's over MPI and mpi4py-fft's, in turn in one run:
ours among threads and, where cargo builds it with MPI, among ranks of MPI. Prints the median and the
minimum of all transforms in milliseconds, the milliseconds that planning takes, the megabytes that
the plans of all ranks keep besides the program's arrays, and the times of the others divided by ours
among threads. With one rank, nothing is exchanged.

Needs Debian's libfftw3-mpi-dev, python3-mpi4py-fft and openmpi-bin.

    benches/peers/transforms.py [--shapes 256x256x256,...] [--ranks 2,4] [--rounds 3] [--calls 5] [--over-mpi]

FFTW plans with FFTW_MEASURE, in place and in normal order ("fftw"), and with
FFTW_MPI_TRANSPOSED_OUT ("fftw transposed"). mpi4py-fft, which plans with FFTW_MEASURE too, leaves
its output transposed. A shape that ends in r is of real numbers.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

SHAPES = "256x256x256,512x512x64,1000x300x70r,2048x2048"
ROOT = pathlib.Path(__file__).resolve().parents[2]


def built(features):
    """Returns the program of our bench."""
    command = ["cargo", "bench", "--no-run", "-p", "necklace-benches", "--bench", "fft", "--message-format=json"]
    # Cargo's default, which this workspace turns off to build faster.
    settings = {"CARGO_PROFILE_BENCH_LTO": "false", "CARGO_PROFILE_RELEASE_LTO": "false"}
    if features:
        settings["CARGO_TARGET_DIR"] = str(ROOT / "target" / "with-mpi")
    command += ["--features", features] if features else []
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, **settings}
    )
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    return [message["executable"] for message in messages if message.get("executable")][-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", default=SHAPES)
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--calls", type=int, default=5)
    parser.add_argument("--mpirun", default="mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none")
    parser.add_argument("--over-mpi", action="store_true", help="ours over MPI too")
    parser.add_argument("--python", default="/usr/bin/python3", help="the interpreter that has mpi4py-fft")
    given = parser.parse_args()
    ours = built(None)
    over_mpi = built("mpi") if given.over_mpi else None
    with tempfile.TemporaryDirectory() as work:
        fftw = os.path.join(work, "fftw_mpi")
        source = str(ROOT / "benches/peers/fftw_mpi.c")
        libraries = ["-lfftw3_mpi", "-lfftw3", "-lm"]
        subprocess.run(["mpicc.openmpi", "-O3", "-march=native", source, "-o", fftw, *libraries], check=True)
        for shape in given.shapes.split(","):
            kind = "real" if shape.endswith("r") else "complex"
            for ranks in given.ranks.split(","):
                compare(given, shape.rstrip("r"), kind, ranks, ours, over_mpi, fftw)


def compare(given, shape, kind, ranks, ours, over_mpi, fftw):
    """Prints the rows of one shape."""
    calls = str(given.calls)
    mpirun = [*given.mpirun.split(), "-n", ranks]
    arguments = ["--shape", shape, "--ranks", ranks, "--calls", calls] + (["--real"] if kind == "real" else [])
    peer = [*mpirun, fftw, shape, calls, "measure", kind, "in"]
    mpi4py = str(ROOT / "benches/peers/mpi4py_transform.py")
    systems = {
        "necklace": [ours, *arguments],
        "necklace transposed": [ours, *arguments, "--transposed"],
        "fftw": peer,
        "fftw transposed": [*peer, "transposed"],
        "mpi4py-fft (transposed)": [*mpirun, given.python, mpi4py, shape, calls, kind],
    }
    if over_mpi:
        systems["necklace over MPI"] = [*mpirun, over_mpi, *arguments]
        systems["necklace over MPI, transposed"] = [*mpirun, over_mpi, *arguments, "--transposed"]
    plans = {system: [] for system in systems}
    kept = {system: [] for system in systems}
    times = {system: [] for system in systems}
    for turn in range(given.rounds):
        print(f"\r{shape} on {ranks}: round {turn + 1} of {given.rounds}", end="", file=sys.stderr)
        for system, command in systems.items():
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            planned, memory, *each = [float(line) for line in done.stdout.split()]
            plans[system].append(planned)
            kept[system].append(memory)
            times[system] += each
    print("\r", end="", file=sys.stderr)
    print(f"{shape} {kind} on {ranks} ranks" + 20 * " ")
    for system, each in times.items():
        base = times["necklace transposed" if "transposed" in system else "necklace"]
        print(
            f"  {system:30} median {statistics.median(each):8.1f}  min {min(each):8.1f}"
            f"  plan {statistics.median(plans[system]):8.0f}  keeps {statistics.median(kept[system]):8.1f}"
            f"  / ours {statistics.median(each) / statistics.median(base):5.2f}"
            f"  by min {min(each) / min(base):5.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
