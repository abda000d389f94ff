/* Times FFTW's two-dimensional transform over MPI, in normal order. Prints one time per line, in
 * milliseconds.
 *
 * mpirun -n 2 ./fftw_mpi SIZE CALLS measure|patient|estimate in|out
 */
#include <complex.h>
#include <fftw3-mpi.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    fftw_mpi_init();
    if (argc != 5) {
        fprintf(stderr, "usage: fftw_mpi SIZE CALLS measure|patient|estimate in|out\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const ptrdiff_t n = atol(argv[1]);
    const int calls = atoi(argv[2]);
    const unsigned flags = !strcmp(argv[3], "patient") ? FFTW_PATIENT
                         : !strcmp(argv[3], "measure") ? FFTW_MEASURE
                                                       : FFTW_ESTIMATE;
    const int in_place = !strcmp(argv[4], "in");
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);

    ptrdiff_t rows, first;
    const ptrdiff_t local = fftw_mpi_local_size_2d(n, n, MPI_COMM_WORLD, &rows, &first);
    fftw_complex *in = fftw_alloc_complex(local);
    fftw_complex *out = in_place ? in : fftw_alloc_complex(local);
    fftw_plan forward = fftw_mpi_plan_dft_2d(n, n, in, out, MPI_COMM_WORLD, FFTW_FORWARD, flags);
    fftw_plan inverse = fftw_mpi_plan_dft_2d(n, n, out, in, MPI_COMM_WORLD, FFTW_BACKWARD, FFTW_ESTIMATE);

    for (int call = 0; call <= calls; call++) {
        for (ptrdiff_t i = 0; i < rows * n; i++) {
            const ptrdiff_t index = first * n + i;
            in[i] = (index % 1009) / 1009.0 + I * ((index % 2003) / 2003.0);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        const double start = MPI_Wtime();
        fftw_execute(forward);
        MPI_Barrier(MPI_COMM_WORLD);
        const double time = MPI_Wtime() - start;
        if (call == 0) { /* not timed: the inverse must give the matrix back */
            fftw_execute(inverse);
            long wrong = 0;
            for (ptrdiff_t i = 0; i < rows * n; i++) {
                const ptrdiff_t index = first * n + i;
                const fftw_complex value = (index % 1009) / 1009.0 + I * ((index % 2003) / 2003.0);
                wrong += !(cabs(in[i] / ((double)n * n) - value) < 1e-12);
            }
            if (wrong) {
                fprintf(stderr, "the inverse does not give %ld elements back\n", wrong);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
        } else if (rank == 0) {
            printf("%.3f\n", time * 1e3);
        }
    }
    MPI_Finalize();
    return 0;
}
