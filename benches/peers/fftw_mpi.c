/* Times FFTW's transform over MPI, of any number of dimensions. Prints the milliseconds that planning
 * takes, the megabytes that the plans of all ranks keep after the first transform, then the
 * milliseconds of each other transform, one a line.
 *
 * mpirun -n 2 ./fftw_mpi 256x256x256 CALLS measure|patient|estimate complex|real in|out [transposed]
 */
#include <complex.h>
#include <fftw3-mpi.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { AXES = 8 };

static void stop(const char *why) {
    fprintf(stderr, "%s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

static double number(ptrdiff_t at) {
    return (double)(at % 1009) / 1009.0;
}

/* The bytes of this process in memory. */
static double resident(void) {
    long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (statm == NULL || fscanf(statm, "%*d %ld", &pages) != 1) {
        stop("no /proc/self/statm");
    }
    fclose(statm);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    fftw_mpi_init();
    if (argc < 6) {
        stop("usage: fftw_mpi SHAPE CALLS measure|patient|estimate complex|real in|out [transposed]");
    }
    ptrdiff_t shape[AXES], spectrum[AXES];
    int axes = 0;
    for (char *extent = strtok(argv[1], "x"); extent != NULL && axes < AXES; extent = strtok(NULL, "x")) {
        spectrum[axes] = shape[axes] = atol(extent);
        axes += 1;
    }
    const int calls = atoi(argv[2]);
    unsigned flags = !strcmp(argv[3], "patient") ? FFTW_PATIENT
                   : !strcmp(argv[3], "measure") ? FFTW_MEASURE
                                                 : FFTW_ESTIMATE;
    const int real = !strcmp(argv[4], "real"), in_place = !strcmp(argv[5], "in");
    const int transposed = argc > 6;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);

    const ptrdiff_t last = shape[axes - 1];
    double elements = 1;
    for (int axis = 0; axis < axes; axis++) {
        elements *= (double)shape[axis];
    }
    if (real) {
        spectrum[axes - 1] = last / 2 + 1;
    }
    ptrdiff_t rows, first, rows_out, first_out;
    const ptrdiff_t local =
        fftw_mpi_local_size_transposed(axes, spectrum, MPI_COMM_WORLD, &rows, &first, &rows_out, &first_out);
    ptrdiff_t lines = rows;
    for (int axis = 1; axis + 1 < axes; axis++) {
        lines *= shape[axis];
    }
    fftw_complex *data = fftw_alloc_complex(local);
    fftw_complex *out = in_place ? data : fftw_alloc_complex(local);
    /* What FFTW keeps is counted without these. */
    memset(data, 1, local * sizeof *data);
    memset(out, 1, local * sizeof *out);
    const double before = resident();
    const unsigned there = transposed ? FFTW_MPI_TRANSPOSED_OUT : 0, back = transposed ? FFTW_MPI_TRANSPOSED_IN : 0;
    const double start = MPI_Wtime();
    fftw_plan forward = real ? fftw_mpi_plan_dft_r2c(axes, shape, (double *)data, out, MPI_COMM_WORLD, flags | there)
                             : fftw_mpi_plan_dft(axes, shape, data, out, MPI_COMM_WORLD, FFTW_FORWARD, flags | there);
    const double planned = MPI_Wtime() - start;
    fftw_plan inverse =
        real ? fftw_mpi_plan_dft_c2r(axes, shape, out, (double *)data, MPI_COMM_WORLD, FFTW_ESTIMATE | back)
             : fftw_mpi_plan_dft(axes, shape, out, data, MPI_COMM_WORLD, FFTW_BACKWARD, FFTW_ESTIMATE | back);
    if (forward == NULL || inverse == NULL) {
        stop("FFTW does not plan this");
    }
    if (rank == 0) {
        printf("%.3f\n", planned * 1e3);
    }

    /* Lines of real numbers are padded to those of the spectrum. */
    const ptrdiff_t numbers = real ? last : 2 * last, distance = 2 * spectrum[axes - 1];
    for (int call = 0; call <= calls; call++) {
        for (ptrdiff_t line = 0; line < lines; line++) {
            for (ptrdiff_t at = 0; at < numbers; at++) {
                ((double *)data)[line * distance + at] = number(line * numbers + at);
            }
        }
        MPI_Barrier(MPI_COMM_WORLD);
        const double start = MPI_Wtime();
        fftw_execute(forward);
        MPI_Barrier(MPI_COMM_WORLD);
        const double time = MPI_Wtime() - start;
        if (call == 0) { /* not timed: the inverse must give the array back */
            double kept = resident() - before, of_all = 0;
            MPI_Reduce(&kept, &of_all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
            if (rank == 0) {
                printf("%.1f\n", of_all / 1e6);
            }
            fftw_execute(inverse);
            long wrong = 0;
            for (ptrdiff_t line = 0; line < lines; line++) {
                for (ptrdiff_t at = 0; at < numbers; at++) {
                    const double found = ((double *)data)[line * distance + at] / elements;
                    wrong += !(fabs(found - number(line * numbers + at)) < 1e-12);
                }
            }
            if (wrong) {
                fprintf(stderr, "the inverse does not give %ld numbers back\n", wrong);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
        } else if (rank == 0) {
            printf("%.3f\n", time * 1e3);
        }
    }
    MPI_Finalize();
    return 0;
}
