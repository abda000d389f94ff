#!/usr/bin/env python3
"""Measures alltoall among the ranks of one host. All systems take turns in one run.

With --transport threads: necklace and two bare exchanges among threads, and Open MPI and MPICH over
shared memory. With --transport tcp: necklace, Open MPI, MPICH and Gloo over TCP, with a process for
each rank.

    apt-get install g++ libgloo-dev libopenmpi-dev openmpi-bin mpich libmpich-dev
    cargo build --release -p necklace-cli
    benches/peers/compare.py target/release/necklace > times.csv
    benches/peers/compare.py --transport tcp target/release/necklace > times.csv

Writes the figures to standard output, in the format of `necklace bench --csv`: the median over the
rounds of each round's median, the minimum over the rounds, and the median of the 90th percentiles.
Writes a table with the goals to standard error. MPICH waits actively and does not yield its core, so
it runs only if each rank has a core.
"""
import argparse, collections, csv, io, os, pathlib, signal, statistics, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).parent
OPEN_MPI = "mpirun.openmpi --allow-run-as-root --oversubscribe".split()
SHARED_MEMORY = ("--mca btl_vader_single_copy_mechanism none --mca btl_vader_eager_limit 32768 "
                 "--mca btl_vader_max_send_size 65536").split()
# The maximum time in seconds in which one system measures all sizes once.
PATIENCE = 120
TCP = "--mca pml ob1 --mca btl tcp,self".split()


def lines(command, **variables):
    words = " ".join(map(str, command))
    for _ in range(3):
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env={**os.environ, **variables}, start_new_session=True) as running:
            try:
                out, err = running.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                # Observed once: a rank of MPICH waited in MPI_Finalize for a rank that had already ended.
                os.killpg(running.pid, signal.SIGKILL)
                print(f"{words}: not done after {PATIENCE} s, trying again", file=sys.stderr)
                continue
        if running.returncode:
            sys.exit(f"{words}: {err}")
        return out
    sys.exit(f"{words}: not done after {PATIENCE} s, in three attempts")


def own(program, transport, ranks, sizes, algorithms):
    where = [] if transport == "threads" else ["--transport", transport]
    text = lines([program, "bench", "move", *where, "--ranks", ranks, "--bytes", ",".join(sizes), "--rounds", "1",
                  "--algorithm", algorithms, "--csv", "-"])
    for row in csv.DictReader(io.StringIO(text)):
        figures = tuple(float(row[name]) for name in ("median_us", "min_us", "p90_us"))
        yield (row["system"], row["algorithm"], int(row["ranks"]), int(row["block_bytes"])), figures


def samples(name, text, ranks):
    found = collections.defaultdict(list)
    for line in text.splitlines():
        _, _, size, time = line.split(",")
        found[int(size)].append(float(time))
    for size, times in found.items():
        times.sort()
        figures = (times[len(times) // 2], times[0], times[int(len(times) * 0.9)])
        yield (name, "default", int(ranks), size), figures


def gloo(program, ranks, sizes):
    with tempfile.TemporaryDirectory() as rendezvous:
        command = lambda rank: [program, "gloo", ranks, str(rank), rendezvous, *sizes]
        others = [subprocess.Popen(command(rank)) for rank in range(1, int(ranks))]
        text = lines(command(0))
        if any(other.wait() for other in others):
            sys.exit("gloo failed")
    return samples("gloo", text, ranks)


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("necklace", help="the command `necklace`, a release build")
    parse.add_argument("--transport", choices=("threads", "tcp"), default="threads",
                       help="what carries the messages (default: %(default)s)")
    parse.add_argument("--ranks", default="2,4,8,16", help="numbers of ranks (default: %(default)s)")
    parse.add_argument("--bytes", default="8,64,512,4096,32768,262144,1048576",
                       help="block sizes in bytes (default: %(default)s)")
    parse.add_argument("--algorithm", default="auto", help="the algorithm of necklace (default: %(default)s)")
    parse.add_argument("--rounds", type=int, default=5, help="measurements of each system (default: %(default)s)")
    options = parse.parse_args()
    sizes, cores, tcp = options.bytes.split(","), len(os.sched_getaffinity(0)), options.transport == "tcp"
    work = pathlib.Path(tempfile.mkdtemp())
    for family in ("openmpi", "mpich"):
        subprocess.run([f"mpicc.{family}", "-O2", "-o", work / family, HERE / "alltoall.c"], check=True)
    if tcp:
        subprocess.run(["g++", "-O2", "-o", work / "gloo", HERE / "gloo.cc", "-lgloo", "-lpthread"], check=True)
    figures = collections.defaultdict(list)
    for ranks in options.ranks.split(","):
        for turn in range(options.rounds):
            print(f"{ranks} ranks, round {turn + 1} of {options.rounds}", file=sys.stderr)
            found = list(own(options.necklace, options.transport, ranks, sizes, options.algorithm))
            found += samples("open-mpi", lines([*OPEN_MPI, *(TCP if tcp else SHARED_MEMORY), "-n", ranks, work / "openmpi",
                                                "open-mpi", *sizes]), ranks)
            if int(ranks) <= cores:
                variables = {"UCX_TLS": "tcp,self"} if tcp else {}
                bind = [] if tcp else ["-bind-to", "core"]
                found += samples("mpich", lines(["mpirun.mpich", *bind, "-n", ranks, work / "mpich", "mpich", *sizes],
                                                **variables), ranks)
            if tcp:
                found += gloo(work / "gloo", ranks, sizes)
            for key, times in found:
                figures[key].append(times)

    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow("system transport collective algorithm ranks block_bytes median_us min_us p90_us".split())
    rows = {}
    for (system, algorithm, ranks, size), rounds in figures.items():
        medians, least, tails = zip(*rounds)
        median = rows[system, algorithm, ranks, size] = statistics.median(medians)
        transport = "tcp" if tcp else "threads" if system in ("bare", "necklace") else "shared-memory"
        out.writerow([system, transport, "alltoall", algorithm, ranks, size,
                      f"{median:.4f}", f"{min(least):.4f}", f"{statistics.median(tails):.4f}"])

    beside = [("gloo", "default")] if tcp else [("bare", "staged"), ("bare", "one-copy")]
    mpi = [("open-mpi", "default"), ("mpich", "default")]
    others = beside + mpi
    show = lambda time: f"{time:10.2f}" if time else "         -"
    verdict = lambda good: "met" if good else "MISSED"
    names = [algorithm if system == "bare" else system for system, algorithm in others]
    print("\nranks   bytes" + "".join(f"{name:>10}" for name in [*names, "necklace"])
          + ("  x gloo  goal " if tcp else "  x bare  goal ") + "  x mpi  goal", file=sys.stderr)
    for ranks in map(int, options.ranks.split(",")):
        for size in map(int, sizes):
            times = {other: rows.get((*other, ranks, size)) for other in others}
            ours = rows["necklace", options.algorithm, ranks, size]
            best = min(times[peer] for peer in mpi if times[peer])
            near = min(times[peer] for peer in beside if times[peer])
            if tcp:
                first, second = ours < near, size < 4096 or ours <= best
                ratio = near / ours
            else:
                faster = {32768: 1.5, 262144: 1.5, 1048576: 1.3}.get(size, 1.0) if size >= 4096 else 0.0
                first, second = ours <= max(1.3, (near + 0.15) / near) * near, best >= faster * ours
                ratio = ours / near
            print(f"{ranks:5}{size:8}" + "".join(map(show, [*times.values(), ours]))
                  + f"{ratio:8.2f}  {verdict(first):6}{best / ours:6.2f}  " + verdict(second), file=sys.stderr)


main()
