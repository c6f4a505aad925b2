/*
 * mcp_bench.c: measures the speed of `lineage mcp` as an agent sees it, for several sizes of the store.
 *
 *     LINEAGE=build-test/cli/lineage mcp_bench [--json] [--trials N]...
 *
 *   start       time from exec to the answer to server/discover, with a warm mirror; and the same plus a first call
 *   NAME        calls of the tool NAME per second; each call waits for the answer to the previous one
 *
 * The ratio compares a case with the same case at the first size: a page should cost the same at any size. The output
 * is a table on stdout, or with --json a list of {case, trials, per_s, seconds, ratio}.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mcp/server.h"
#include "support/files.h"

enum { MAX_SIZES = 8, STARTS = 20, MAX_CALLS = 16 };

static const struct {
    const char *name, *params;
    int n;
} calls[] = {
    {"best", "\"name\":\"best\"", 500},
    {"trial", "\"name\":\"trial\",\"arguments\":{\"id\":\"000077\"}", 500},
    {"query", "\"name\":\"query\"", 200},
    {"query, second page", "\"name\":\"query\",\"arguments\":{\"cursor\":\"000500\"}", 200},
    {"query by score", "\"name\":\"query\",\"arguments\":{\"sort\":\"score\"}", 200},
    {"query, range of alpha", "\"name\":\"query\",\"arguments\":{\"where\":{\"alpha\":\"0.2:0.4\"}}", 50},
    {"tried, alpha near 0.9", "\"name\":\"tried\",\"arguments\":{\"params\":{\"alpha\":0.9}}", 50},
    {"tried, alpha and gamma", "\"name\":\"tried\",\"arguments\":{\"params\":{\"alpha\":0.9,\"gamma\":0.5}}", 50},
    {"chain", "\"name\":\"chain\"", 200},
    {"knowledge", "\"name\":\"knowledge\"", 50},
    {"sweep", "\"name\":\"sweep\",\"arguments\":{\"x\":\"alpha\",\"y\":\"gamma\"}", 3},
};
enum { N_CALLS = sizeof calls / sizeof *calls };

struct bench {
    bool json, any;
    double first[MAX_CALLS];
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void report(struct bench *bench, const char *name, size_t trials, double count, double seconds, double ratio)
{
    if (bench->json)
        printf("%s\n {\"case\": \"%s\", \"trials\": %zu, \"per_s\": %.6g, \"seconds\": %.6g, \"ratio\": %.4g}",
               bench->any ? "," : "[", name, trials, count / seconds, seconds / count, ratio);
    else
        printf("%-26s %9zu %12.1f %12.6f %8.2f\n", name, trials, count / seconds, seconds / count, ratio);
    bench->any = true;
    fflush(stdout);
}

static bool ask(struct server *server, const char *method, const char *params)
{
    char text[600];
    int n = snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{" MODERN "%s%s}}\n", method,
                     *params ? "," : "", params);
    server_put(server, text, (size_t)n);
    json_t *answer = server_next(server);
    bool ok = json_is_object(json_object_get(answer, "result")) && !json_object_get(json_object_get(answer, "result"), "isError");
    json_decref(answer);
    if (!ok)
        fprintf(stderr, "mcp_bench: no answer to %s %s\n", method, params);
    return ok;
}

static bool bench_start(struct bench *bench, const char *dir, size_t trials, size_t at, const char *name, bool call)
{
    bool ok = true;
    double start = now();
    for (int i = 0; ok && i < STARTS; i++) {
        struct server server;
        ok = server_start(&server, dir, NULL) && ask(&server, "server/discover", "") &&
             (!call || ask(&server, "tools/call", calls[0].params));
        server_end(&server);
    }
    double seconds = (now() - start) / STARTS;
    bench->first[at] = bench->first[at] > 0 ? bench->first[at] : seconds;
    report(bench, name, trials, 1, seconds, seconds / bench->first[at]);
    return ok;
}

static bool bench_calls(struct bench *bench, const char *dir, size_t trials)
{
    struct server server;
    bool ok = server_start(&server, dir, NULL) && ask(&server, "server/discover", "");
    for (size_t i = 0; ok && i < N_CALLS; i++) {
        double start = now();
        for (int j = 0; ok && j < calls[i].n; j++)
            ok = ask(&server, "tools/call", calls[i].params);
        double seconds = (now() - start) / calls[i].n;
        bench->first[i] = bench->first[i] > 0 ? bench->first[i] : seconds;
        report(bench, calls[i].name, trials, 1, seconds, seconds / bench->first[i]);
    }
    server_end(&server);
    return ok;
}

static bool bench_size(struct bench *bench, size_t trials)
{
    char *dir = make_store(trials);
    struct server warm;
    bool ok = server_start(&warm, dir, NULL) && ask(&warm, "tools/call", calls[0].params); /* makes the mirror */
    server_end(&warm);
    ok = ok && bench_start(bench, dir, trials, N_CALLS, "start", false) &&
         bench_start(bench, dir, trials, N_CALLS + 1, "start and first call", true) && bench_calls(bench, dir, trials);
    remove_dir(dir);
    return ok;
}

int main(int argc, char **argv)
{
    struct bench bench = {0};
    size_t sizes[MAX_SIZES] = {1000, 100000}, n = 0;
    bool ok = true;
    for (int i = 1; i < argc; i++) {
        bench.json = bench.json || strcmp(argv[i], "--json") == 0;
        if (strcmp(argv[i], "--trials") == 0 && i + 1 < argc && n < MAX_SIZES)
            sizes[n++] = strtoul(argv[++i], NULL, 10);
    }
    if (!bench.json)
        printf("%-26s %9s %12s %12s %8s\n", "case", "trials", "per second", "seconds", "ratio");
    for (size_t i = 0; ok && i < (n ? n : 2); i++)
        ok = bench_size(&bench, sizes[i]);
    if (bench.json)
        puts("\n]");
    return !ok;
}
