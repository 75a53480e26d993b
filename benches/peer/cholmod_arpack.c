/* The yardstick of benches/large_reduction.rs: the same static shapes and modes
 * by CHOLMOD (supernodal, its own choice of ordering, METIS among them) and
 * ARPACK (shift-invert mode at zero), one thread.
 *
 *   cc -O2 -o cholmod_arpack cholmod_arpack.c -lcholmod -larpack -lopenblas -lm
 *   OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 taskset -c 0 ./cholmod_arpack FOLDER
 *
 * FOLDER is what TWINRIG_EXPORT of that bench wrote. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <suitesparse/cholmod.h>

extern void dsaupd_(int *ido, const char *bmat, const int *n, const char *which, const int *nev,
                    const double *tol, double *resid, const int *ncv, double *v, const int *ldv,
                    int *iparam, int *ipntr, double *workd, double *workl, const int *lworkl,
                    int *info);
extern void dseupd_(const int *rvec, const char *howmny, const int *select, double *d, double *z,
                    const int *ldz, const double *sigma, const char *bmat, const int *n,
                    const char *which, const int *nev, const double *tol, double *resid,
                    const int *ncv, double *v, const int *ldv, int *iparam, int *ipntr,
                    double *workd, double *workl, const int *lworkl, int *info);

enum { MODES = 50, VECTORS = 2 * MODES + 1 };

static double seconds(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec)
         + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void *get(FILE *f, size_t bytes) {
    void *p = malloc(bytes);
    if (!p || fread(p, 1, bytes, f) != bytes) { fprintf(stderr, "short file\n"); exit(1); }
    return p;
}

static FILE *open_in(const char *folder, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    if (!f) { perror(path); exit(1); }
    return f;
}

/* A lower triangle, 32-bit indices. */
static cholmod_sparse *read_lower(const char *folder, const char *name, cholmod_common *c) {
    FILE *f = open_in(folder, name);
    int64_t *size = get(f, 16);
    int64_t n = size[0], entries = size[1];
    int64_t *starts = get(f, 8 * (size_t)(n + 1)), *rows = get(f, 8 * (size_t)entries);
    double *values = get(f, 8 * (size_t)entries);
    cholmod_sparse *a = cholmod_allocate_sparse(n, n, entries, 1, 1, -1, CHOLMOD_REAL, c);
    for (int64_t i = 0; i <= n; i++) ((int *)a->p)[i] = (int)starts[i];
    for (int64_t i = 0; i < entries; i++) ((int *)a->i)[i] = (int)rows[i];
    memcpy(a->x, values, 8 * (size_t)entries);
    free(size); free(starts); free(rows); free(values);
    fclose(f);
    return a;
}

static int smaller(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    if (argc < 2) { fprintf(stderr, "usage: cholmod_arpack FOLDER [tolerance]\n"); return 1; }
    double tol = argc > 2 ? atof(argv[2]) : 0.0;
    cholmod_common c;
    cholmod_start(&c);
    cholmod_sparse *k = read_lower(argv[1], "k.bin", &c), *m = read_lower(argv[1], "m.bin", &c);
    /* Products with both triangles need no scatter, which is what scipy does too. */
    cholmod_sparse *mass = cholmod_copy(m, 0, 1, &c);
    int n = (int)k->nrow;
    double t0 = seconds();
    /* More candidates than by default: AMD, METIS and CHOLMOD's own dissection. */
    if (getenv("ALL_ORDERINGS")) c.nmethods = 9;
    cholmod_factor *l = cholmod_analyze(k, &c);
    double t1 = seconds();
    c.final_ll = 1;
    cholmod_factorize(k, l, &c);
    double t2 = seconds();
    printf("ordering %d, factor %.3f GB, supernodal %d, %.3e flops, status %d\n", l->ordering,
           8e-9 * (double)(l->is_super ? l->xsize : l->nzmax), l->is_super, c.fl, c.status);
    /* Static shapes of the interface. */
    FILE *f = open_in(argv[1], "interface.bin");
    int64_t dofs[24];
    size_t count = fread(dofs, 8, 24, f);
    cholmod_dense *b = cholmod_zeros(n, count, CHOLMOD_REAL, &c);
    for (size_t j = 0; j < count; j++) ((double *)b->x)[j * (size_t)n + (size_t)dofs[j]] = 1.0;
    cholmod_dense *shapes = cholmod_solve(CHOLMOD_A, l, b, &c);
    double t3 = seconds();
    /* K x = w M x, shift-invert at 0: OP = K⁻¹ M, B = M. */
    int ncv = VECTORS, nev = MODES, ido = 0, info = 0, lworkl = ncv * (ncv + 8);
    int iparam[11] = {1, 0, 1000, 1, 0, 0, 3, 0, 0, 0, 0}, ipntr[14];
    double *resid = calloc((size_t)n, 8), *v = malloc(8 * (size_t)n * (size_t)ncv);
    double *workd = malloc(24 * (size_t)n), *workl = malloc(8 * (size_t)lworkl);
    cholmod_dense *x = cholmod_zeros(n, 1, CHOLMOD_REAL, &c);
    cholmod_dense *y = NULL, *work_y = NULL, *work_e = NULL;
    double one[2] = {1, 0}, zero[2] = {0, 0}, in_solve = 0, in_product = 0;
    int solves = 0;
    for (;;) {
        dsaupd_(&ido, "G", &n, "LM", &nev, &tol, resid, &ncv, v, &n, iparam, ipntr, workd, workl,
                &lworkl, &info);
        double *from = workd + ipntr[0] - 1, *to = workd + ipntr[1] - 1;
        double s = seconds();
        if (ido == 2 || ido == -1) {
            cholmod_dense source = *x, target = *x;
            source.x = from; target.x = to;
            cholmod_sdmult(mass, 0, one, zero, &source, &target, &c);
            in_product += seconds() - s;
            s = seconds();
        }
        if (ido == 1 || ido == -1) {
            /* For ido 1 ARPACK hands over B x already. */
            memcpy(x->x, ido == 1 ? workd + ipntr[2] - 1 : to, 8 * (size_t)n);
            cholmod_solve2(CHOLMOD_A, l, x, NULL, &y, NULL, &work_y, &work_e, &c);
            memcpy(to, y->x, 8 * (size_t)n);
            solves++;
            in_solve += seconds() - s;
        } else if (ido != 2) {
            break;
        }
    }
    double d[MODES], sigma = 0.0;
    int rvec = 1, select[VECTORS], info2 = 0;
    dseupd_(&rvec, "A", select, d, v, &n, &sigma, "G", &n, "LM", &nev, &tol, resid, &ncv, v, &n,
            iparam, ipntr, workd, workl, &lworkl, &info2);
    double t4 = seconds();
    if (info || info2) printf("ARPACK info %d %d\n", info, info2);
    qsort(d, MODES, sizeof d[0], smaller);
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    printf("%d rows: analyse %.2f, factor %.2f, %zu static shapes %.2f, modes %.2f "
           "(%d solutions %.2f, products %.2f) s\n", n, t1 - t0, t2 - t1, count, t3 - t2, t4 - t3,
           solves, in_solve, in_product);
    printf("processor %.2f s, peak memory %.2f GiB\n", t4 - t0,
           (double)u.ru_maxrss / (1024.0 * 1024.0));
    for (int i = 0; i < MODES; i += MODES / 2) printf("omega squared %2d: %.15e\n", i + 1, d[i]);
    printf("omega squared %2d: %.15e\n", MODES, d[MODES - 1]);
    (void)shapes;
    return 0;
}
