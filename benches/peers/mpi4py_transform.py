"""Times mpi4py-fft's transform. Prints the milliseconds that planning takes, then those of each
transform, one a line.

mpirun -n 2 python3 mpi4py_transform.py 256x256x256 CALLS complex|real
"""

import sys
import time

import numpy
from mpi4py import MPI
from mpi4py_fft import PFFT, newDistArray

shape, calls, kind = sys.argv[1:]
shape = [int(extent) for extent in shape.split("x")]
comm = MPI.COMM_WORLD
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
        # Not timed: the inverse must give the array back.
        transform.backward(spectrum, array)
        back = array / numpy.prod([float(extent) for extent in shape])
        assert numpy.allclose(back, numbers, atol=1e-12), "the inverse does not give the array back"
    elif comm.rank == 0:
        print(f"{took * 1e3:.3f}")
