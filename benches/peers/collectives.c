/* Times a collective of MPI in the same way as `necklace bench move`. A sample is a number of calls,
 * one after the other, that takes about 0.4 ms on rank 0.
 *
 *   mpicc -O2 -o collectives collectives.c
 *   mpirun -n RANKS ./collectives NAME COLLECTIVE follow|barrier BYTES..
 *
 * With `barrier`, a barrier that is not timed stands before each call; with `follow`, calls follow
 * each other. BYTES are those of a block. Reductions add doubles where a block consists of them, and
 * take the largest of bytes otherwise. Prints `NAME,COLLECTIVE,RANKS,BYTES,SAMPLE_US` for each sample.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;

/* The elements of a block. */
struct block {
  int count;
  MPI_Datatype type;
  MPI_Op op;
};

typedef void call(const void *send, void *receive, struct block b);

/* What a sample measures. */
struct measured {
  call *call;
  int barrier;
  const void *send;
  void *receive;
  struct block block;
};

/* Makes calls, and returns the time that counts. */
static double timed(const struct measured *m, long calls) {
  double counted = 0, start = MPI_Wtime();
  for (long i = 0; i < calls; i++) {
    if (m->barrier) {
      MPI_Barrier(MPI_COMM_WORLD);
      start = MPI_Wtime();
    }
    m->call(m->send, m->receive, m->block);
    if (m->barrier) counted += MPI_Wtime() - start;
  }
  return m->barrier ? counted : MPI_Wtime() - start;
}

static void alltoall(const void *send, void *receive, struct block b) {
  MPI_Alltoall(send, b.count, b.type, receive, b.count, b.type, MPI_COMM_WORLD);
}
static void allgather(const void *send, void *receive, struct block b) {
  MPI_Allgather(send, b.count, b.type, receive, b.count, b.type, MPI_COMM_WORLD);
}
static void gather(const void *send, void *receive, struct block b) {
  MPI_Gather(send, b.count, b.type, receive, b.count, b.type, 0, MPI_COMM_WORLD);
}
static void scatter(const void *send, void *receive, struct block b) {
  MPI_Scatter(send, b.count, b.type, receive, b.count, b.type, 0, MPI_COMM_WORLD);
}
static void broadcast(const void *send, void *receive, struct block b) {
  (void)send;
  MPI_Bcast(receive, b.count, b.type, 0, MPI_COMM_WORLD);
}
static void reduce(const void *send, void *receive, struct block b) {
  MPI_Reduce(send, receive, b.count, b.type, b.op, 0, MPI_COMM_WORLD);
}
static void allreduce(const void *send, void *receive, struct block b) {
  MPI_Allreduce(send, receive, b.count, b.type, b.op, MPI_COMM_WORLD);
}
static void reduce_scatter(const void *send, void *receive, struct block b) {
  MPI_Reduce_scatter_block(send, receive, b.count, b.type, b.op, MPI_COMM_WORLD);
}
static void scan(const void *send, void *receive, struct block b) {
  MPI_Scan(send, receive, b.count, b.type, b.op, MPI_COMM_WORLD);
}
static void exscan(const void *send, void *receive, struct block b) {
  MPI_Exscan(send, receive, b.count, b.type, b.op, MPI_COMM_WORLD);
}
static void barrier(const void *send, void *receive, struct block b) {
  (void)send, (void)receive, (void)b;
  MPI_Barrier(MPI_COMM_WORLD);
}

static const struct {
  const char *name;
  call *call;
  /* Whether there is a block for each rank in the send and in the receive buffer, at the root at least. */
  int sends, receives;
} ALL[] = {
  {"alltoall", alltoall, 1, 1}, {"allgather", allgather, 0, 1}, {"gather", gather, 0, 1},
  {"scatter", scatter, 1, 0},   {"broadcast", broadcast, 0, 0}, {"reduce", reduce, 0, 0},
  {"allreduce", allreduce, 0, 0}, {"reduce_scatter", reduce_scatter, 1, 0}, {"scan", scan, 0, 0},
  {"exscan", exscan, 0, 0},     {"barrier", barrier, 0, 0},
};

static void *memory(size_t bytes, int value) {
  void *start = NULL;
  if (posix_memalign(&start, 4096, bytes + 1))
    MPI_Abort(MPI_COMM_WORLD, 1);
  memset(start, value, bytes);
  return start;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  size_t at = 0, known = sizeof ALL / sizeof *ALL;
  while (argc > 2 && at < known && strcmp(ALL[at].name, argv[2]))
    at++;
  int barrier = argc > 3 && !strcmp(argv[3], "barrier");
  if (argc < 5 || at == known || (!barrier && strcmp(argv[3], "follow"))) {
    fprintf(stderr, "expected NAME COLLECTIVE follow|barrier BYTES.., with a collective of MPI\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  for (int i = 4; i < argc; i++) {
    int bytes = atoi(argv[i]), doubles = bytes % 8 == 0;
    struct block b = {doubles ? bytes / 8 : bytes, doubles ? MPI_DOUBLE : MPI_UNSIGNED_CHAR, doubles ? MPI_SUM : MPI_MAX};
    void *send = memory((size_t)bytes * (ALL[at].sends ? ranks : 1), 0);
    void *receive = memory((size_t)bytes * (ALL[at].receives ? ranks : 1), 0);
    struct measured m = {ALL[at].call, barrier, send, receive, b};
    timed(&m, 5);
    /* How long a call takes: the shortest of three times twenty, as rank 0 sees it. */
    double pace = 1e9;
    for (int trial = 0; trial < 3; trial++) {
      double time = timed(&m, 20) / 20;
      if (time < pace) pace = time;
    }
    if (pace < 1e-9) pace = 1e-9;
    long n = (long)(0.4e-3 / pace);
    n = n < 2 ? 2 : n > 20000 ? 20000 : n;
    long samples = (long)(40e-3 / (pace * n));
    samples = samples < 5 ? 5 : samples > 1000 ? 1000 : samples;
    long agreed[2] = {n, samples};
    MPI_Bcast(agreed, 2, MPI_LONG, 0, MPI_COMM_WORLD);
    timed(&m, 5);
    double *times = malloc(sizeof *times * agreed[1]);
    for (long s = 0; s < agreed[1]; s++)
      times[s] = timed(&m, agreed[0]) / agreed[0];
    /* A rank that does not wait for the others can begin calls sooner than they are done. */
    MPI_Reduce(rank ? times : MPI_IN_PLACE, times, agreed[1], MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    for (long s = 0; rank == 0 && s < agreed[1]; s++)
      printf("%s,%s,%d,%d,%.4f\n", argv[1], argv[2], ranks, bytes, times[s] * 1e6);
    free(times);
    free(send);
    free(receive);
  }
  MPI_Finalize();
  return 0;
}
