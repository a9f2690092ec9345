/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Reg time: measures ibv_reg_mr() and ibv_dereg_mr() for 4 KiB to 1 GiB of memory, once with pages
 * that were touched before, and once with untouched pages. Prints a table for reg_time.gnuplot with
 * the median for each size. Each size is registered for 50 ms, at least 5 times.
 */
#include <sys/mman.h>
#include <time.h>
#include "both.h"

#define TIMES_MAX 1000

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Measures one size. Sets *reg and *dereg to the medians, us. */
static void measure(struct ibv_pd *pd, void *buf, size_t len, double *reg, double *dereg)
{
    static double regs[TIMES_MAX], deregs[TIMES_MAX];
    size_t cnt = 0;
    double end = now_us() + 50000;
    while (cnt < TIMES_MAX && (cnt < 5 || now_us() < end)) {
        double before = now_us();
        struct ibv_mr *mr = ibv_reg_mr(pd, buf, len, ALL_ACCESS);
        double between = now_us();
        MUST(mr != NULL && ibv_dereg_mr(mr) == 0);
        regs[cnt] = between - before;
        deregs[cnt++] = now_us() - between;
    }
    qsort(regs, cnt, sizeof *regs, by_value);
    qsort(deregs, cnt, sizeof *deregs, by_value);
    *reg = regs[cnt / 2];
    *dereg = deregs[cnt / 2];
}

int main(void)
{
    const size_t max = (size_t)1 << 30;
    struct ibv_context *context = endpoint_device(NULL);
    struct ibv_pd *pd = ibv_alloc_pd(context);
    char *buf =
        mmap(NULL, max, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    MUST(pd && buf != MAP_FAILED);
    printf("# bytes, ibv_reg_mr us, ibv_dereg_mr us (medians)\n");
    for (size_t len = 4096; len <= max; len *= 2) {
        double reg, dereg;
        measure(pd, buf, len, &reg, &dereg);
        printf("%zu %.3f %.3f\n", len, reg, dereg);
    }
    MUST(munmap(buf, max) == 0 && ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0);
    return 0;
}
