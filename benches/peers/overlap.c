/* Times collectives of MPI that do not block, with computation meanwhile, as IMB-NBC does and
 * `benches/overlap.rs` does for necklace.
 *
 *   mpicc -O2 -o overlap overlap.c
 *   mpirun -n RANKS ./overlap NAME CALLS BYTES..
 *
 * BYTES are those of a block, which consists of doubles. Prints
 * `NAME,COLLECTIVE,RANKS,BYTES,BLOCKING_US,PURE_US,COMPUTE_US,BOTH_US`: medians over CALLS calls, of the
 * slowest rank.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;
static volatile double sink;
/* Steps of the computation in a microsecond. */
static double pace;

static void steps(long count) {
  double x = 1.0;
  for (long i = 0; i < count; i++)
    x = x * 1.0000001 + 1e-9;
  sink = x;
}

static void compute(double us) { steps((long)(us * pace)); }

static void calibrate(void) {
  double best = 1e9;
  for (int turn = 0; turn < 20; turn++) {
    double start = MPI_Wtime();
    steps(1000000);
    double time = MPI_Wtime() - start;
    if (time < best) best = time;
  }
  pace = 1.0 / best;
}

static void start(int collective, int count, const double *send, double *receive, MPI_Request *request) {
  if (collective == 0) MPI_Ialltoall(send, count, MPI_DOUBLE, receive, count, MPI_DOUBLE, MPI_COMM_WORLD, request);
  if (collective == 1) MPI_Iallreduce(send, receive, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, request);
  if (collective == 2) MPI_Ibcast(receive, count, MPI_DOUBLE, 0, MPI_COMM_WORLD, request);
}

static void block(int collective, int count, const double *send, double *receive) {
  if (collective == 0) MPI_Alltoall(send, count, MPI_DOUBLE, receive, count, MPI_DOUBLE, MPI_COMM_WORLD);
  if (collective == 1) MPI_Allreduce(send, receive, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (collective == 2) MPI_Bcast(receive, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static int order(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The median in microseconds, of the slowest rank. With `us` below 0, a call that blocks. */
static double median(int calls, int collective, int count, const double *send, double *receive, double us) {
  double *times = malloc(sizeof *times * calls);
  for (int i = -2; i < calls; i++) {
    MPI_Barrier(MPI_COMM_WORLD);
    double began = MPI_Wtime();
    if (us < 0) {
      block(collective, count, send, receive);
    } else {
      MPI_Request request;
      start(collective, count, send, receive, &request);
      compute(us);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (i >= 0) times[i] = (MPI_Wtime() - began) * 1e6;
  }
  qsort(times, calls, sizeof *times, order);
  double all, own = times[calls / 2];
  free(times);
  MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

int main(int argc, char **argv) {
  static const char *names[] = {"alltoall", "allreduce", "broadcast"};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  calibrate();
  int calls = argc > 2 ? atoi(argv[2]) : 0;
  if (argc < 4 || calls < 1) {
    fprintf(stderr, "expected NAME CALLS BYTES..\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  for (int i = 3; i < argc; i++)
    for (int collective = 0; collective < 3; collective++) {
      int bytes = atoi(argv[i]), count = bytes / 8, all = collective == 0 ? ranks * count : count;
      double *send = calloc(all + 1, sizeof *send), *receive = calloc(all + 1, sizeof *receive);
      double blocking = median(calls, collective, count, send, receive, -1);
      double pure = median(calls, collective, count, send, receive, 0);
      double began = MPI_Wtime();
      compute(pure);
      double computed = (MPI_Wtime() - began) * 1e6;
      double both = median(calls, collective, count, send, receive, pure);
      if (rank == 0)
        printf("%s,%s,%d,%d,%.1f,%.1f,%.1f,%.1f\n", argv[1], names[collective], ranks, bytes, blocking, pure, computed, both);
      free(send);
      free(receive);
    }
  MPI_Finalize();
}
