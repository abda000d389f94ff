/* Times MPI_Alltoall on bytes in the same way as `necklace bench move`. A sample is a number of
 * calls, one after the other, that takes about 0.4 ms on rank 0.
 *
 *   mpicc -O2 -o alltoall alltoall.c
 *   mpirun -n RANKS ./alltoall NAME BYTES..
 *
 * Prints `NAME,RANKS,BYTES,SAMPLE_US` for each sample.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void calls(long n, const void *send, void *receive, int bytes) {
  for (long i = 0; i < n; i++)
    MPI_Alltoall(send, bytes, MPI_BYTE, receive, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 2; i < argc; i++) {
    int bytes = atoi(argv[i]);
    size_t all = (size_t)bytes * ranks;
    void *send = NULL, *receive = NULL;
    if (posix_memalign(&send, 4096, all + 1) || posix_memalign(&receive, 4096, all + 1))
      MPI_Abort(MPI_COMM_WORLD, 1);
    memset(send, 1, all);
    memset(receive, 2, all);
    calls(5, send, receive, bytes);
    /* How long a call takes: the shortest of three times twenty, as rank 0 sees it. */
    double pace[2] = {1e9, 0};
    for (int trial = 0; trial < 3; trial++) {
      double start = MPI_Wtime();
      calls(20, send, receive, bytes);
      double call = (MPI_Wtime() - start) / 20;
      if (call < pace[0]) pace[0] = call;
    }
    if (pace[0] < 1e-9) pace[0] = 1e-9;
    long n = (long)(0.4e-3 / pace[0]);
    n = n < 2 ? 2 : n > 20000 ? 20000 : n;
    long samples = (long)(40e-3 / (pace[0] * n));
    samples = samples < 5 ? 5 : samples > 1000 ? 1000 : samples;
    long agreed[2] = {n, samples};
    MPI_Bcast(agreed, 2, MPI_LONG, 0, MPI_COMM_WORLD);
    calls(5, send, receive, bytes);
    double *times = malloc(sizeof *times * agreed[1]);
    double before = MPI_Wtime();
    for (long s = 0; s < agreed[1]; s++) {
      calls(agreed[0], send, receive, bytes);
      double now = MPI_Wtime();
      times[s] = (now - before) / agreed[0];
      before = now;
    }
    for (long s = 0; rank == 0 && s < agreed[1]; s++)
      printf("%s,%d,%d,%.4f\n", argv[1], ranks, bytes, times[s] * 1e6);
    free(times);
    free(send);
    free(receive);
  }
  MPI_Finalize();
  return 0;
}
