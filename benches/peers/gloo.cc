/* Times gloo::alltoall on bytes over TCP in the same way as collectives.c times MPI_Alltoall.
 *
 *   g++ -O2 -o gloo gloo.cc -lgloo -lpthread
 *   for rank in $(seq 0 $((RANKS - 1))); do ./gloo NAME RANKS $rank DIRECTORY BYTES.. & done; wait
 *
 * The ranks find each other through DIRECTORY, which must be empty. Prints
 * `NAME,RANKS,BYTES,SAMPLE_US` for each sample.
 */
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include <gloo/alltoall.h>
#include <gloo/broadcast.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

static double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int main(int argc, char **argv) {
  if (argc < 6) return 2;
  int ranks = atoi(argv[2]), rank = atoi(argv[3]);
  gloo::rendezvous::FileStore store(argv[4]);
  gloo::transport::tcp::attr address("127.0.0.1");
  auto device = gloo::transport::tcp::CreateDevice(address);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
  context->connectFullMesh(store, device);
  uint32_t tag = 0;
  for (int i = 5; i < argc; i++) {
    size_t bytes = atol(argv[i]), all = bytes * ranks;
    std::vector<char> send(all, 1), receive(all, 2);
    auto calls = [&](long n) {
      for (long c = 0; c < n; c++) {
        gloo::AlltoallOptions options(context);
        options.setInput(send.data(), all);
        options.setOutput(receive.data(), all);
        options.setTag(tag++);
        gloo::alltoall(options);
      }
    };
    calls(5);
    double pace = 1e9;
    for (int trial = 0; trial < 3; trial++) {
      double start = now();
      calls(20);
      pace = std::min(pace, (now() - start) / 20);
    }
    std::vector<long> agreed(2);
    agreed[0] = std::min(20000L, std::max(2L, (long)(0.4e-3 / pace)));
    agreed[1] = std::min(1000L, std::max(5L, (long)(40e-3 / (pace * agreed[0]))));
    gloo::BroadcastOptions same(context);
    same.setOutput(agreed.data(), 2);
    same.setRoot(0);
    same.setTag(tag++);
    gloo::broadcast(same);
    calls(5);
    std::vector<double> times;
    double before = now();
    for (long s = 0; s < agreed[1]; s++) {
      calls(agreed[0]);
      double after = now();
      times.push_back((after - before) / agreed[0]);
      before = after;
    }
    for (double time : times)
      if (rank == 0) printf("%s,alltoall,%d,%zu,%.4f\n", argv[1], ranks, bytes, time * 1e6);
  }
  return 0;
}
