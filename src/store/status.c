/* status.c: error texts, notices, and what every room asks of an open store. */
#include <stdarg.h>
#include <unistd.h>

#include "format/config.h"
#include "internal.h"

const char *lineage_status_text(enum lineage_status status)
{
    switch (status) {
    case LINEAGE_OK: return "ok";
    case LINEAGE_EINVAL: return "invalid argument";
    case LINEAGE_ENOMEM: return "out of memory";
    case LINEAGE_EIO: return "input/output error";
    case LINEAGE_ECORRUPT: return "malformed file";
    case LINEAGE_EEXIST: return "already there";
    case LINEAGE_ENOTFOUND: return "not found";
    case LINEAGE_ELOCKED: return "locked";
    case LINEAGE_EDB: return "database error";
    case LINEAGE_ELIMIT: return "too long";
    case LINEAGE_ECANCELLED: return "cancelled";
    case LINEAGE_EAWAY: return "server away";
    case LINEAGE_EREFUSED: return "refused by the server";
    }
    return "unknown status";
}

/* Ids and file names in a message may contain anything; this keeps the message on one line and harmless for a
 * terminal. */
static void make_one_line(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = '?';
}

static void __attribute__((format(printf, 4, 0))) fill(struct lineage_error *err, enum lineage_status status, int os_errno,
                                                       const char *format, va_list args)
{
    err->status = status;
    err->os_errno = os_errno;
    err->line = 0;
    int used = vsnprintf(err->text, sizeof err->text, format, args);
    if (os_errno && used >= 0 && (size_t)used < sizeof err->text)
        snprintf(err->text + used, sizeof err->text - (size_t)used, ": %s", strerror(os_errno));
    make_one_line(err->text);
}

enum lineage_status store_fail(struct lineage_error *err, enum lineage_status status, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        fill(err, status, 0, format, args);
        va_end(args);
    }
    return status;
}

enum lineage_status store_fail_errno(struct lineage_error *err, enum lineage_status status, const char *format, ...)
{
    int saved = errno;
    if (err) {
        va_list args;
        va_start(args, format);
        fill(err, status, saved, format, args);
        va_end(args);
    }
    errno = saved;
    return status;
}

enum lineage_status store_no_memory(struct lineage_error *err)
{
    return store_fail(err, LINEAGE_ENOMEM, "out of memory");
}

enum lineage_status store_give(struct lineage_error *err, const struct lineage_error *why)
{
    if (err)
        *err = *why;
    return why->status;
}

void store_notice(const struct lineage_store *store, uint64_t line, const char *format, ...)
{
    char text[LINEAGE_ERROR_TEXT_MAX];
    struct lineage_notice notice = {.line = line, .text = text};
    if (!store->options.notice)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    make_one_line(text);
    store->options.notice(store->options.context, &notice);
}

enum lineage_status store_check_owner(const struct lineage_store *store, struct lineage_error *err)
{
    if (store->owner == getpid())
        return LINEAGE_OK;
    return store_fail(err, LINEAGE_EINVAL, "%s was opened before a fork; open it anew in the child", store->dir);
}

const char *const *lineage_store_seeds(const struct lineage_store *store)
{
    return store->more ? store->more->seeds : NULL;
}

const char *lineage_store_score_name(const struct lineage_store *store)
{
    return store->more ? store->more->score : NULL;
}

const struct lineage_config *lineage_store_config(const struct lineage_store *store)
{
    return &store->config;
}
