/* exchanges.c: see exchanges.h. */
#include "agent/exchanges.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <lineage/render.h>
#include <lineage/time.h>

#include "cli.h"
#include "judge/request_digest.h"

bool exchange_digest(char digest[EXCHANGE_DIGEST_MAX], const char *url, const json_t *request)
{
    return judge_digest(digest, json_pack("{s:s, s:O}", "endpoint", url, "request", request));
}

/* Creates the directories if `make`. */
static bool find_path(char path[PATH_MAX], struct lineage_store *store, const char *name, bool make)
{
    struct lineage_error err;
    char *telemetry = NULL;
    if (lineage_store_path(&telemetry, store, LINEAGE_PLACE_TELEMETRY, &err) != LINEAGE_OK)
        return false;
    if (make)
        mkdir(telemetry, 0777);
    int n = snprintf(path, PATH_MAX, "%s/exchanges", telemetry);
    if (make && n > 0 && n < PATH_MAX)
        mkdir(path, 0777);
    n = snprintf(path, PATH_MAX, "%s/exchanges/%s.json", telemetry, name);
    lineage_free(telemetry);
    return n > 0 && n < PATH_MAX;
}

json_t *exchange_find(struct lineage_store *store, const char *digest)
{
    char path[PATH_MAX];
    int fd = find_path(path, store, digest, false) ? open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
    json_t *exchange = fd >= 0 ? json_loadfd(fd, 0, NULL) : NULL;
    json_t *response = json_incref(json_object_get(exchange, "response"));
    if (fd >= 0)
        close(fd);
    json_decref(exchange);
    return response;
}

bool exchange_keep(struct lineage_store *store, const char *digest, const json_t *request, const json_t *response, double seconds)
{
    char path[PATH_MAX], partial[PATH_MAX + 32], now[LINEAGE_TIME_MAX];
    json_t *exchange = json_pack("{s:s, s:f, s:O, s:O}", "time", lineage_time_format(now, (int64_t)time(NULL)), "seconds",
                                 seconds, "request", request, "response", response);
    bool kept = exchange && find_path(path, store, digest, true);
    if (kept) {
        snprintf(partial, sizeof partial, "%s.%ld", path, (long)getpid());
        kept = json_dump_file(exchange, partial, JSON_COMPACT) == 0 && rename(partial, path) == 0;
        if (!kept)
            unlink(partial);
    }
    json_decref(exchange);
    if (!kept)
        cli_error(CLI_SYSTEM, "cannot keep the exchange %s: %s", digest, strerror(errno));
    return kept;
}
