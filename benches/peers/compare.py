#!/usr/bin/env python3
"""Measures collectives among the ranks of one host. All systems take turns in one run.

With --transport threads: necklace among threads, and Open MPI, MPICH and, with --intel, Intel MPI
over shared memory; for alltoall also two bare exchanges among threads. With --transport tcp:
necklace, Open MPI and MPICH over TCP, with a process for each rank; for alltoall also Gloo.

    apt-get install g++ libgloo-dev libopenmpi-dev openmpi-bin mpich libmpich-dev
    pip install --prefix impi impi-rt
    cargo build --release -p necklace-cli
    benches/peers/compare.py target/release/necklace > times.csv
    benches/peers/compare.py --collective all --intel impi target/release/necklace > times.csv
    benches/peers/compare.py --transport tcp target/release/necklace > times.csv

Writes the figures to standard output, in the format of `necklace bench --csv`: the median over the
rounds of each round's median, the minimum over the rounds, and the median of the 90th percentiles.
Writes a table to standard error: the time of each system, and the time of necklace divided by that
of the fastest MPI, worst rows first. The goal is at most 1, and at most 0.8 from 32 KiB up among
threads. MPICH waits actively and does not yield its core, so it runs only if each rank has a core.
"""
import argparse, collections, csv, io, os, pathlib, signal, statistics, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).parent
COLLECTIVES = ("alltoall allgather gather scatter broadcast reduce allreduce reduce_scatter scan exscan "
               "barrier").split()
# Those with a buffer of a block for each rank.
LONG = {"alltoall", "allgather", "gather", "scatter", "reduce_scatter"}
# The memory that the buffers of all ranks may take, in bytes.
MEMORY = 1 << 30
OPEN_MPI = "mpirun.openmpi --allow-run-as-root --oversubscribe".split()
SHARED_MEMORY = ("--mca btl_vader_single_copy_mechanism none --mca btl_vader_eager_limit 32768 "
                 "--mca btl_vader_max_send_size 65536").split()
TCP = "--mca pml ob1 --mca btl tcp,self".split()


def lines(options, command, **variables):
    words = " ".join(map(str, command))
    for _ in range(3):
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env={**os.environ, **variables}, start_new_session=True) as running:
            try:
                out, err = running.communicate(timeout=options.patience)
            except subprocess.TimeoutExpired:
                # Observed once: a rank of MPICH waited in MPI_Finalize for a rank that had already ended.
                os.killpg(running.pid, signal.SIGKILL)
                print(f"{words}: not done after {options.patience} s, trying again", file=sys.stderr)
                continue
        if running.returncode:
            sys.exit(f"{words}: {err}")
        return out
    sys.exit(f"{words}: not done after {options.patience} s, in three attempts")


def own(options, collective, ranks, sizes):
    where = [] if options.transport == "threads" else ["--backend", options.transport]
    text = lines(options, [options.necklace, "bench", "move", *where, "--collective", collective, "--ranks", ranks,
                  "--bytes", ",".join(sizes), "--rounds", "1", "--algorithm", options.algorithm, "--csv", "-", *["--barrier"] * options.barrier])
    for row in csv.DictReader(io.StringIO(text)):
        figures = tuple(float(row[name]) for name in ("median_us", "min_us", "p90_us"))
        yield (row["system"], row["algorithm"], row["collective"], int(row["ranks"]), int(row["block_bytes"])), figures


def samples(text):
    found = collections.defaultdict(list)
    for line in text.splitlines():
        name, collective, ranks, size, time = line.split(",")
        found[name, "default", collective, int(ranks), int(size)].append(float(time))
    for key, times in found.items():
        times.sort()
        yield key, (times[len(times) // 2], times[0], times[int(len(times) * 0.9)])


def gloo(options, program, ranks, sizes):
    with tempfile.TemporaryDirectory() as rendezvous:
        command = lambda rank: [program, "gloo", ranks, str(rank), rendezvous, *sizes]
        others = [subprocess.Popen(command(rank)) for rank in range(1, int(ranks))]
        text = lines(options, command(0))
        if any(other.wait() for other in others):
            sys.exit("gloo failed")
    return samples(text)


def peers(options, work, collective, ranks, sizes):
    tcp, calls = options.transport == "tcp", "barrier" if options.barrier else "follow"
    yield from samples(lines(options, [*OPEN_MPI, *(TCP if tcp else SHARED_MEMORY), "-n", ranks, work / "openmpi",
                              "open-mpi", collective, calls, *sizes]))
    if int(ranks) <= len(os.sched_getaffinity(0)):
        bind = [] if tcp else ["-bind-to", "core"]
        yield from samples(lines(options, ["mpirun.mpich", *bind, "-n", ranks, work / "mpich", "mpich", collective, calls, *sizes],
                                 **({"UCX_TLS": "tcp,self"} if tcp else {})))
    if options.intel and not tcp:
        # The program built with MPICH: both have the same binary interface.
        yield from samples(lines(options, [options.intel / "bin/mpiexec.hydra", "-n", ranks, work / "mpich", "intel-mpi",
                                  collective, calls, *sizes],
                                 LD_LIBRARY_PATH=f"{work / 'intel'}:{options.intel / 'lib'}", I_MPI_ROOT=str(options.intel),
                                 I_MPI_FABRICS="shm", I_MPI_THREAD_YIELD="2", I_MPI_PIN_CELL="core"))
    if tcp and collective == "alltoall" and not options.barrier:
        yield from gloo(options, work / "gloo", ranks, sizes)


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("necklace", help="the command `necklace`, a release build")
    parse.add_argument("--transport", choices=("threads", "tcp"), default="threads",
                       help="what carries the messages (default: %(default)s)")
    parse.add_argument("--collective", default="alltoall", help="collectives, or `all` (default: %(default)s)")
    parse.add_argument("--ranks", default="2,4,8,16", help="numbers of ranks (default: %(default)s)")
    parse.add_argument("--bytes", default="8,64,512,4096,32768,262144,1048576",
                       help="block sizes in bytes (default: %(default)s)")
    parse.add_argument("--algorithm", default="auto", help="the algorithm of necklace (default: %(default)s)")
    parse.add_argument("--rounds", type=int, default=5, help="measurements of each system (default: %(default)s)")
    parse.add_argument("--patience", type=int, default=120,
                       help="seconds in which one system measures all sizes of a round (default: %(default)s)")
    parse.add_argument("--barrier", action="store_true",
                       help="put a barrier that is not timed before each call, as the OSU benchmarks do")
    parse.add_argument("--intel", type=pathlib.Path, help="the directory where impi-rt is installed")
    options = parse.parse_args()
    names = COLLECTIVES if options.collective == "all" else options.collective.split(",")
    work = pathlib.Path(tempfile.mkdtemp())
    for family in ("openmpi", "mpich"):
        subprocess.run([f"mpicc.{family}", "-O2", "-o", work / family, HERE / "collectives.c"], check=True)
    if options.transport == "tcp" and "alltoall" in names:
        subprocess.run(["g++", "-O2", "-o", work / "gloo", HERE / "gloo.cc", "-lgloo", "-lpthread"], check=True)
    if options.intel:
        options.intel = options.intel.resolve()
        (work / "intel").mkdir()
        (work / "intel" / "libmpich.so.12").symlink_to(options.intel / "lib/libmpi.so.12")
    figures = collections.defaultdict(list)
    for collective in names:
        for ranks in options.ranks.split(","):
            buffers = int(ranks) * (int(ranks) if collective in LONG else 1)
            sizes = [size for size in options.bytes.split(",") if int(size) * buffers <= MEMORY]
            sizes = ["0"] if collective == "barrier" else sizes
            for turn in range(options.rounds):
                print(f"{collective}, {ranks} ranks, round {turn + 1} of {options.rounds}", file=sys.stderr)
                for key, times in [*own(options, collective, ranks, sizes), *peers(options, work, collective, ranks, sizes)]:
                    figures[key].append(times)

    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow("system transport collective algorithm ranks block_bytes median_us min_us p90_us".split())
    rows = collections.defaultdict(dict)
    for (system, algorithm, collective, ranks, size), rounds in figures.items():
        medians, least, tails = zip(*rounds)
        median = statistics.median(medians)
        rows[collective, ranks, size][algorithm if system == "bare" else system] = median
        transport = "tcp" if options.transport == "tcp" else "threads" if system in ("bare", "necklace") else "shared-memory"
        out.writerow([system, transport, collective, algorithm, ranks, size,
                      f"{median:.4f}", f"{min(least):.4f}", f"{statistics.median(tails):.4f}"])

    systems = ["staged", "one-copy", "gloo", "open-mpi", "mpich", "intel-mpi", "necklace"]
    systems = [system for system in systems if any(system in times for times in rows.values())]
    beside = lambda times: times["necklace"] / min(times[mpi] for mpi in systems if mpi.endswith("mpi") or mpi == "mpich" if mpi in times)
    show = lambda time: f"{time:10.2f}" if time else "         -"
    print("\n    collective ranks    bytes" + "".join(f"{name:>10}" for name in systems) + "     x mpi  goal", file=sys.stderr)
    missed = 0
    for (collective, ranks, size), times in sorted(rows.items(), key=lambda row: -beside(row[1])):
        goal = 0.8 if options.transport == "threads" and size >= 32768 else 1.0
        met = beside(times) <= goal
        missed += not met
        print(f"{collective:>14}{ranks:6}{size:9}" + "".join(show(times.get(name)) for name in systems)
              + f"{beside(times):10.2f}  {'met' if met else 'MISSED'}", file=sys.stderr)
    print(f"\n{len(rows) - missed} of {len(rows)} rows meet the goal", file=sys.stderr)


main()
