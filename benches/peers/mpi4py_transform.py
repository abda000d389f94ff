"""Times mpi4py-fft's transform. Prints the milliseconds that planning takes, the megabytes that the
plans of all ranks keep after the first transform, then the milliseconds of each other transform,
one a line.

mpirun -n 2 python3 mpi4py_transform.py 256x256x256 CALLS complex|real
"""

import resource
import sys
import time

import numpy
from mpi4py import MPI
from mpi4py_fft import PFFT, newDistArray


def resident():
    """Returns the bytes of this process in memory."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


shape, calls, kind = sys.argv[1:]
shape = [int(extent) for extent in shape.split("x")]
comm = MPI.COMM_WORLD
before = resident()
start = time.perf_counter()
transform = PFFT(comm, shape, dtype=numpy.float64 if kind == "real" else numpy.complex128)
if comm.rank == 0:
    print(f"{(time.perf_counter() - start) * 1e3:.3f}")
array, spectrum = newDistArray(transform, False), newDistArray(transform, True)
numbers = numpy.arange(array.size).reshape(array.shape) % 1009 / 1009
for call in range(int(calls) + 1):
    array[:] = numbers
    comm.Barrier()
    start = time.perf_counter()
    transform.forward(array, spectrum, normalize=False)
    comm.Barrier()
    took = time.perf_counter() - start
    if call == 0:
        data = array.nbytes + spectrum.nbytes + numbers.nbytes
        kept = comm.reduce(resident() - before - data)
        if comm.rank == 0:
            print(f"{kept / 1e6:.1f}")
        # Not timed: the inverse must give the array back.
        transform.backward(spectrum, array)
        back = array / numpy.prod([float(extent) for extent in shape])
        assert numpy.allclose(back, numbers, atol=1e-12), "the inverse does not give the array back"
    elif comm.rank == 0:
        print(f"{took * 1e3:.3f}")
