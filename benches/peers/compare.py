#!/usr/bin/env python3
"""Alltoall among ranks of one machine: necklace on threads, two bare exchanges among threads, Open MPI and MPICH over shared
memory, measured in turn in one run.

    apt-get install libopenmpi-dev openmpi-bin mpich libmpich-dev
    cargo build --release -p necklace-cli
    benches/peers/compare.py target/release/necklace > times.csv

Standard output gets the figures as `necklace bench --csv` writes them: medians over the rounds of a round's median, and the
like. Standard error gets them beside the goals. MPICH waits without giving way, so it is run only where each rank has a core.
"""
import argparse, collections, csv, io, os, pathlib, statistics, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).parent
TUNED = ("--mca btl_vader_single_copy_mechanism none --mca btl_vader_eager_limit 32768 "
         "--mca btl_vader_max_send_size 65536 --allow-run-as-root --oversubscribe").split()


def lines(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr}")
    return done.stdout


def own(program, ranks, sizes, algorithms):
    text = lines([program, "bench", "move", "--ranks", ranks, "--bytes", ",".join(sizes), "--rounds", "1",
                  "--algorithm", algorithms, "--csv", "-"])
    for row in csv.DictReader(io.StringIO(text)):
        figures = tuple(float(row[name]) for name in ("median_us", "min_us", "p90_us"))
        yield (row["system"], row["transport"], row["algorithm"], int(row["ranks"]), int(row["block_bytes"])), figures


def mpi(name, launch, ranks, sizes):
    samples = collections.defaultdict(list)
    for line in lines([*launch, name, *sizes]).splitlines():
        _, _, size, time = line.split(",")
        samples[int(size)].append(float(time))
    for size, times in samples.items():
        times.sort()
        figures = (times[len(times) // 2], times[0], times[int(len(times) * 0.9)])
        yield (name, "shared-memory", "default", int(ranks), size), figures


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("necklace", help="the command, built in release")
    parse.add_argument("--ranks", default="2,4,8,16")
    parse.add_argument("--bytes", default="8,64,512,4096,32768,262144,1048576")
    parse.add_argument("--algorithm", default="auto", help="one, of the row necklace")
    parse.add_argument("--rounds", type=int, default=5)
    options = parse.parse_args()
    sizes, cores = options.bytes.split(","), len(os.sched_getaffinity(0))
    work = pathlib.Path(tempfile.mkdtemp())
    for family in ("openmpi", "mpich"):
        subprocess.run([f"mpicc.{family}", "-O2", "-o", work / family, HERE / "alltoall.c"], check=True)
    figures = collections.defaultdict(list)
    for ranks in options.ranks.split(","):
        for turn in range(options.rounds):
            print(f"{ranks} ranks, round {turn + 1} of {options.rounds}", file=sys.stderr)
            found = list(own(options.necklace, ranks, sizes, options.algorithm))
            found += mpi("open-mpi", ["mpirun.openmpi", *TUNED, "-n", ranks, work / "openmpi"], ranks, sizes)
            if int(ranks) <= cores:
                found += mpi("mpich", ["mpirun.mpich", "-bind-to", "core", "-n", ranks, work / "mpich"], ranks, sizes)
            for key, times in found:
                figures[key].append(times)

    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow("system transport collective algorithm ranks block_bytes median_us min_us p90_us".split())
    rows = {}
    for (system, transport, algorithm, ranks, size), rounds in figures.items():
        medians, least, tails = zip(*rounds)
        median = rows[system, algorithm, ranks, size] = statistics.median(medians)
        out.writerow([system, transport, "alltoall", algorithm, ranks, size,
                      f"{median:.4f}", f"{min(least):.4f}", f"{statistics.median(tails):.4f}"])

    print("\nranks   bytes    staged  one-copy  open-mpi     mpich  necklace  x bare  goal   x mpi  goal", file=sys.stderr)
    for ranks in map(int, options.ranks.split(",")):
        for size in map(int, sizes):
            get = lambda system, algorithm: rows.get((system, algorithm, ranks, size))
            staged, one_copy = get("bare", "staged"), get("bare", "one-copy")
            peers = [get("open-mpi", "default"), get("mpich", "default")]
            ours = get("necklace", options.algorithm)
            bare, best = min(staged, one_copy), min(peer for peer in peers if peer)
            allowed = max(1.3, (bare + 0.15) / bare)
            faster = {32768: 1.5, 262144: 1.5, 1048576: 1.3}.get(size, 1.0) if size >= 4096 else 0.0
            show = lambda time: f"{time:10.2f}" if time else "         -"
            verdict = lambda good: "met" if good else "MISSED"
            print(f"{ranks:5}{size:8}" + "".join(map(show, [staged, one_copy, *peers, ours]))
                  + f"{ours / bare:8.2f}  {verdict(ours <= allowed * bare):6}{best / ours:6.2f}  "
                  + verdict(best >= faster * ours), file=sys.stderr)


main()
