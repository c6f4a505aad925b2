/* log_postgres_wait.c: waits for new rows. */
#include "log_postgres_parts.h"

#include <poll.h>

#include "../clock.h"

enum { LOOK_MS = 30000 }; /* only a query shows that a server disappeared silently */

/* Listens before the first look, so that a row that is added in between is noticed. A new connection must listen
 * again. */
static enum lineage_status listen_for_rows(struct log_postgres *p, bool *fresh, struct lineage_error *err)
{
    struct pg_result result = {0};
    enum lineage_status status = postgres_find_store(p, err);
    if (status == LINEAGE_OK)
        status = pg_connect(p->pg, NULL, err);
    *fresh = status == LINEAGE_OK && p->listening != pg_connections(p->pg);
    if (!*fresh)
        return status;
    status = postgres_ask(p, &result, err, "LISTEN lineage_%lld", (long long)p->store);
    pg_clear(&result);
    if (status == LINEAGE_OK)
        p->listening = pg_connections(p->pg);
    return status;
}

static enum lineage_status look_for_news(struct log_postgres *p, bool *news, struct lineage_error *err)
{
    struct log_state now;
    enum lineage_status status = postgres_look(&p->log, &now, err);
    if (status != LINEAGE_OK)
        return status;
    *news = now.size != p->seen.size || now.revision != p->seen.revision || !log_is_same(&now, &p->seen);
    p->seen = now;
    return LINEAGE_OK;
}

/* A NOTIFY only means that the log may have changed: it may come from a transaction that was already seen, and one
 * NOTIFY may stand for several transactions. */
enum lineage_status postgres_wait(struct log *log, int milliseconds, bool *news, struct lineage_error *err)
{
    struct log_postgres *p = postgres_of(log);
    const int64_t until = clock_now_ms() + milliseconds;
    const bool first = !p->listening;
    bool look = false, again = false;
    for (;;) {
        bool fresh;
        enum lineage_status status = listen_for_rows(p, &fresh, err);
        look = pg_take_notifies(p->pg) || look || fresh;
        if (status == LINEAGE_OK && look)
            status = look_for_news(p, news, err);
        *news = *news || (first && status == LINEAGE_OK);
        int64_t left = milliseconds < 0 ? LOOK_MS : until - clock_now_ms();
        if (status != LINEAGE_OK || *news)
            return status;
        if (!pg_is_connected(p->pg) && !again) { /* the server closed the connection and may be back */
            again = true;
            continue;
        }
        if (left <= 0)
            return LINEAGE_OK;
        again = false;
        struct pollfd fd = {pg_socket(p->pg), POLLIN, 0};
        look = poll(&fd, 1, left < LOOK_MS ? (int)left : LOOK_MS) == 0 && left >= LOOK_MS;
    }
}
