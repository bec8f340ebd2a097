// SPDX-License-Identifier: Apache-2.0
// bench_vertexing_cub - CUB's DeviceHistogram on the entries and bins of bench_vertexing's histograms,
// for the comparison: the same float entries, the same bins, 32-bit counts; and, as CUB takes one histogram at a
// time, a batch is a loop.  Prints the same JSON objects, one a line.  Built where nvcc is:
//     cmake --build BUILD --target bench_vertexing_cub && BUILD/bench/bench_vertexing_cub >> FILE
#include <cub/device/device_histogram.cuh>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

static void check(cudaError_t e, const char *what)
{
    if (e == cudaSuccess)
        return;
    std::fprintf(stderr, "bench_vertexing_cub: %s: %s\n", what, cudaGetErrorString(e));
    std::exit(1);
}

struct Job {
    float *z;
    uint32_t *bins;
    void *room;
    size_t room_bytes;
    int entries, n_bins, n_rois;
};

static void run(const Job &j, int times)
{
    for (int t = 0; t < times; t++)
        for (int r = 0; r < j.n_rois; r++) {
            size_t bytes = j.room_bytes;

            check(cub::DeviceHistogram::HistogramEven(j.room, bytes, j.z + (size_t)r * j.entries,
                                                      j.bins + (size_t)r * j.n_bins, j.n_bins + 1,
                                                      -100.0f, 100.0f, j.entries),
                  "HistogramEven");
        }
    check(cudaDeviceSynchronize(), "synchronize");
}

static double seconds(const Job &j, int times)
{
    const auto start = std::chrono::steady_clock::now();

    run(j, times);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

static void measure(int entries, int n_bins, int n_rois, const char *device)
{
    const size_t n = (size_t)entries * n_rois;
    std::vector<float> z(n);
    Job j = {nullptr, nullptr, nullptr, 0, entries, n_bins, n_rois};
    double us[5];
    int times = 1;
    char date[32];
    const std::time_t now = std::time(nullptr);
    const char *machine = std::getenv("TRIGD_MACHINE"), *commit = std::getenv("TRIGD_COMMIT");

    for (size_t i = 0; i < n; i++) // 40 mm wide, as in bench_vertexing
        z[i] = 40 * std::sqrt(-2 * std::log((i * 2654435761u % 1000003 + 0.5f) / 1000003)) *
               std::cos(6.2831853f * (i * 40503u % 65537) / 65537);
    check(cudaMalloc(&j.z, n * sizeof(float)), "malloc");
    check(cudaMalloc(&j.bins, (size_t)n_rois * n_bins * sizeof(uint32_t)), "malloc");
    check(cudaMemcpy(j.z, z.data(), n * sizeof(float), cudaMemcpyHostToDevice), "copy");
    check(cub::DeviceHistogram::HistogramEven(nullptr, j.room_bytes, j.z, j.bins, n_bins + 1,
                                              -100.0f, 100.0f, entries),
          "HistogramEven");
    check(cudaMalloc(&j.room, j.room_bytes + 1), "malloc");
    while (seconds(j, times) < 0.05 && times < 1 << 20)
        times *= 2;
    for (double &u : us)
        u = seconds(j, times) / times * 1e6;
    std::sort(us, us + 5);
    std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
    std::printf("{\"bench\":\"vertexing\",\"figure\":\"histogram CUB, %d entries, %d bins, %d RoIs, "
                "cuda, %s\",\"value\":%.6g,\"unit\":\"entries/s\",\"better\":\"higher\",\"runs\":5,"
                "\"spread\":%.3g,\"machine\":\"%s\",\"device\":\"cuda, %s\",\"commit\":\"%s\","
                "\"date\":\"%s\",\"command\":\"bench_vertexing_cub\"}\n",
                entries, n_bins, n_rois, device, n / us[2] * 1e6,
                0.5 * (us[4] - us[0]) / us[2] * n / us[2] * 1e6,
                machine ? machine : "desk", device, commit ? commit : "", date);
    std::fflush(stdout);
    cudaFree(j.z);
    cudaFree(j.bins);
    cudaFree(j.room);
}

int main()
{
    cudaDeviceProp p;

    check(cudaGetDeviceProperties(&p, 0), "device 0");
    for (int entries = 100; entries <= 1000000; entries *= 10)
        for (int bins : {100, 1000, 8000}) {
            const int n_rois = std::min(4000000 / entries, 2048);

            measure(entries, bins, 1, p.name);
            if (n_rois > 1)
                measure(entries, bins, n_rois, p.name);
        }
    return 0;
}
