/*
 * blobs_postgres.c: stores trees of files as chunks on a server (schema/postgresql/003_blobs.sql).
 *
 * A manifest lists the entries in the order in which they are created: An entry with only "path" and "mode" is a
 * directory, one with "chunks" a file, and one with "link" a symbolic link; the path of the tree itself is "". Links
 * come last, so that no entry is created through a link. The server checks each chunk when it is stored, and names a
 * blob only when all its chunks exist. Chunks are checked again here when they are fetched.
 */
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <sha2.h>

#include <lineage/text.h>

#include "../files/fs.h"
#include "../files/places.h"
#include "../format/arena.h"
#include "../postgres/log_postgres.h"
#include "../postgres/pg.h"
#include "blobs_backend.h"

enum { CHUNK = 1 << 20, DEPTH_MAX = 64, NUMBER_MAX = 32 };

/* Length of a chunk's digest as PostgreSQL writes a bytea: \x and 64 hexadecimal digits. */
#define DIGEST_MAX (2 + SHA256_DIGEST_STRING_LENGTH)

struct carrier {
    struct lineage_store *store;
    struct pg *pg;
    char number[LOG_POSTGRES_STORE];
    json_t *entries, *links;
    unsigned char *chunk; /* [CHUNK] */
    struct buf hex;
    int depth;
    struct lineage_error *err;
};

static enum lineage_status failed(struct carrier *c, const char *doing, const char *path)
{
    return store_fail_errno(c->err, LINEAGE_EIO, "cannot %s %.200s", doing, path);
}

static enum lineage_status no_memory(struct carrier *c)
{
    return store_no_memory(c->err);
}

/* Fails with a message that names the text, because jansson accepts only UTF-8 and does not report which text it
 * refused. */
static enum lineage_status not_noted(struct carrier *c, const char *path, const char *what, const char *text)
{
    if (lineage_text_is_utf8(path, strlen(path)) && lineage_text_is_utf8(text, strlen(text)))
        return no_memory(c);
    return store_fail(c->err, LINEAGE_EINVAL, "%.200s: %s that is to travel must be UTF-8", path, what);
}

static enum lineage_status open_carrier(struct carrier *c, struct lineage_store *store, struct lineage_error *err)
{
    *c = (struct carrier){.store = store, .pg = log_postgres_pg(store->log), .err = err};
    c->entries = json_array();
    c->links = json_array();
    c->chunk = malloc(CHUNK);
    TRY(c->entries && c->links && c->chunk ? LINEAGE_OK : no_memory(c));
    return log_postgres_store(store->log, c->number, err);
}

static void close_carrier(struct carrier *c)
{
    json_decref(c->entries);
    json_decref(c->links);
    free(c->chunk);
    buf_release(&c->hex);
}

static const char *digest_of(char out[DIGEST_MAX], const unsigned char *bytes, size_t n)
{
    memcpy(out, "\\x", 2);
    SHA256Data(bytes, n, out + 2);
    return out;
}

/* A chunk that the server already has is not sent. Most chunks of a snapshot are the same as in the parent's
 * snapshot. */
static enum lineage_status send_chunk(struct carrier *c, size_t n, json_t *chunks)
{
    char digest[DIGEST_MAX];
    const char *params[] = {c->number, digest_of(digest, c->chunk, n), NULL};
    struct pg_result result = {0};
    enum lineage_status status =
        pg_run(c->pg, &result, PG_PATIENCE, "SELECT lineage.has_chunk($1::integer, $2::bytea)", 2, params, c->err);
    bool there = status == LINEAGE_OK && strcmp(pg_text(&result, 0, 0, NULL), "t") == 0;
    pg_clear(&result);
    if (status == LINEAGE_OK && !there) {
        buf_reset(&c->hex);
        buf_puts(&c->hex, "\\x");
        buf_add_hex(&c->hex, c->chunk, n);
        params[2] = c->hex.data;
        status = c->hex.failed ? no_memory(c)
                               : pg_run(c->pg, NULL, PG_PATIENCE, "SELECT lineage.put_chunk($1::integer, $2::bytea, $3::bytea)",
                                        3, params, c->err);
    }
    return status == LINEAGE_OK && json_array_append_new(chunks, json_string(digest + 2)) != 0 ? no_memory(c) : status;
}

static enum lineage_status send_file(struct carrier *c, int dir, const char *name, const char *path, mode_t mode)
{
    enum lineage_status status = LINEAGE_OK;
    json_auto_t *chunks = json_array();
    ssize_t n = 1;
    int fd = fs_open(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    for (uint64_t at = 0; fd >= 0 && status == LINEAGE_OK && (n = fs_read_at(fd, c->chunk, CHUNK, at)) > 0; at += (uint64_t)n)
        status = send_chunk(c, (size_t)n, chunks);
    if (fd < 0 || n < 0)
        status = failed(c, "read", path);
    fs_close(fd);
    if (status == LINEAGE_OK && json_array_append_new(c->entries, json_pack("{s:s, s:i, s:O}", "path", path, "mode",
                                                                            (int)(mode & 0777), "chunks", chunks)) != 0)
        status = not_noted(c, path, "the name of a file", "");
    return status;
}

static enum lineage_status send_link(struct carrier *c, int dir, const char *name, const char *path)
{
    char target[PATH_MAX];
    ssize_t n = fs_read_link(dir, name, target, sizeof target - 1);
    if (n < 0)
        return failed(c, "read the link", path);
    target[n] = '\0';
    return json_array_append_new(c->links, json_pack("{s:s, s:s}", "path", path, "link", target)) == 0
               ? LINEAGE_OK
               : not_noted(c, path, "a link", target);
}

static enum lineage_status send_entry(struct carrier *c, int dir, const char *name, const char *path);

static enum lineage_status send_directory(struct carrier *c, int dir, const char *name, const char *path, mode_t mode)
{
    enum lineage_status status = LINEAGE_OK;
    const char *entry;
    char below[PATH_MAX];
    if (++c->depth > DEPTH_MAX)
        return store_fail(c->err, LINEAGE_ELIMIT, "%.200s is more than %d directories deep", path, DEPTH_MAX);
    SCOPED_LIST list = fs_list_at(dir, name, O_NOFOLLOW);
    if (!list)
        return failed(c, "list", path);
    if (json_array_append_new(c->entries, json_pack("{s:s, s:i}", "path", path, "mode", (int)(mode & 0777))) != 0)
        status = not_noted(c, path, "the name of a directory", "");
    while (status == LINEAGE_OK && (entry = fs_next(list))) {
        int n = snprintf(below, sizeof below, "%s%s%s", path, *path ? "/" : "", entry);
        status = n < PATH_MAX ? send_entry(c, dirfd(list), entry, below)
                              : store_fail(c->err, LINEAGE_ELIMIT, "%.200s: too long a path", path);
    }
    if (status == LINEAGE_OK && errno) /* the listing failed: a partial tree must not be named */
        status = failed(c, "list", path);
    c->depth--;
    return status;
}

static enum lineage_status send_entry(struct carrier *c, int dir, const char *name, const char *path)
{
    struct stat st;
    if (fs_stat(dir, name, AT_SYMLINK_NOFOLLOW, &st) != 0)
        return failed(c, "look at", name);
    if (S_ISREG(st.st_mode))
        return send_file(c, dir, name, path, st.st_mode);
    if (S_ISDIR(st.st_mode))
        return send_directory(c, dir, name, path, st.st_mode);
    if (S_ISLNK(st.st_mode))
        return send_link(c, dir, name, path);
    return store_fail(c->err, LINEAGE_EINVAL, "%.200s is neither file, directory nor symbolic link", name);
}

static enum lineage_status name_blob(struct carrier *c, const char *name)
{
    SCOPED_RESULT result = {0};
    json_array_extend(c->entries, c->links);
    SCOPED_FREE char *manifest = json_dumps(c->entries, JSON_COMPACT);
    const char *const params[] = {c->number, name, manifest};
    enum lineage_status status =
        manifest ? pg_run(c->pg, &result, PG_PATIENCE, "SELECT lineage.name_blob($1::integer, $2, $3::jsonb)", 3, params, c->err)
                 : no_memory(c);
    if (status == LINEAGE_OK && strcmp(pg_text(&result, 0, 0, NULL), "t") != 0)
        status = store_fail(c->err, LINEAGE_EIO, "%s: a piece of it was removed while it was sent; try again", name);
    return status;
}

enum lineage_status blobs_send(struct lineage_store *store, const char *path, const char *name, struct lineage_error *err)
{
    struct carrier c;
    enum lineage_status status = open_carrier(&c, store, err);
    if (status == LINEAGE_OK)
        status = send_entry(&c, store->dir_fd, path, "");
    if (status == LINEAGE_OK && name)
        status = name_blob(&c, name);
    close_carrier(&c);
    return status;
}

static enum lineage_status bring_chunk(struct carrier *c, const char *digest, int fd, uint64_t *at)
{
    char name[DIGEST_MAX], found[DIGEST_MAX];
    struct pg_result result = {0};
    size_t length = 0;
    snprintf(name, sizeof name, "\\x%s", digest);
    const char *const params[] = {c->number, name};
    enum lineage_status status =
        pg_run(c->pg, &result, PG_PATIENCE, "SELECT bytes FROM lineage.chunk WHERE store = $1::integer AND digest = $2::bytea", 2,
               params, c->err);
    const char *text = status == LINEAGE_OK && pg_rows(&result) ? pg_text(&result, 0, 0, &length) : "";
    size_t n = length > 2 && length / 2 - 1 <= CHUNK && hex_read(c->chunk, text + 2, length / 2 - 1) ? length / 2 - 1 : 0;
    pg_clear(&result);
    if (status == LINEAGE_OK && (!n || strcmp(digest_of(found, c->chunk, n), name) != 0))
        return store_fail(c->err, LINEAGE_ECORRUPT, "the piece %.64s is not on the server, or is another one", digest);
    if (status == LINEAGE_OK && fs_write_at(fd, c->chunk, n, *at) != 0)
        status = failed(c, "write", "what was brought from the server");
    *at += n;
    return status;
}

static enum lineage_status bring_file(struct carrier *c, int dir, const char *path, mode_t mode, const json_t *chunks)
{
    enum lineage_status status = LINEAGE_OK;
    uint64_t at = 0;
    int fd = fs_open(dir, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd < 0)
        return failed(c, "make", path);
    for (size_t i = 0; status == LINEAGE_OK && i < json_array_size(chunks); i++) {
        const char *digest = json_string_value(json_array_get(chunks, i));
        status = digest ? bring_chunk(c, digest, fd, &at) : store_fail(c->err, LINEAGE_ECORRUPT, "a manifest names no piece");
    }
    if (status == LINEAGE_OK && fs_chmod(fd, mode) != 0)
        status = failed(c, "set the mode of", path);
    fs_close(fd);
    return status;
}

/* Whether a path in a manifest stays inside the directory that the blob is fetched to. This is checked because every
 * user with write access to the server can write a manifest. */
static bool is_safe(const char *path)
{
    for (const char *at = path; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL)
        if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || !at[2]))
            return false;
    return *path && *path != '/';
}

static enum lineage_status bring_entry(struct carrier *c, const char *temporary, const json_t *entry)
{
    char place[PATH_MAX];
    const char *path = json_string_value(json_object_get(entry, "path")),
               *link = json_string_value(json_object_get(entry, "link"));
    const json_t *chunks = json_object_get(entry, "chunks");
    const mode_t mode = (mode_t)json_integer_value(json_object_get(entry, "mode")) & 0777;
    int dir = c->store->dir_fd;
    if (!path || (*path && !is_safe(path)) ||
        snprintf(place, sizeof place, "%s%s%s", temporary, *path ? "/" : "", path) >= PATH_MAX)
        return store_fail(c->err, LINEAGE_ECORRUPT, "a manifest on the server names a path that leads elsewhere");
    if (chunks)
        return bring_file(c, dir, place, mode, chunks);
    if (link)
        return fs_symlink(link, dir, place) == 0 ? LINEAGE_OK : failed(c, "make the link", place);
    return fs_mkdir_new(dir, place, mode | 0700) == 0 ? LINEAGE_OK : failed(c, "make", place);
}

/* Creates links last, whatever the order of the manifest. */
static enum lineage_status bring_entries(struct carrier *c, const char *temporary, const json_t *entries)
{
    for (int links = 0; links < 2; links++)
        for (size_t i = 0; i < json_array_size(entries); i++)
            if ((json_object_get(json_array_get(entries, i), "link") != NULL) == links)
                TRY(bring_entry(c, temporary, json_array_get(entries, i)));
    return LINEAGE_OK;
}

static enum lineage_status read_manifest(struct carrier *c, const char *name, json_t **entries)
{
    SCOPED_RESULT result = {0};
    const char *const params[] = {c->number, name};
    enum lineage_status status =
        pg_run(c->pg, &result, PG_PATIENCE, "SELECT manifest FROM lineage.blob WHERE store = $1::integer AND name = $2", 2,
               params, c->err);
    if (status == LINEAGE_OK && !pg_rows(&result))
        status = LINEAGE_ENOTFOUND;
    if (status == LINEAGE_OK && !(*entries = json_loads(pg_text(&result, 0, 0, NULL), 0, NULL)))
        status = store_fail(c->err, LINEAGE_ECORRUPT, "the manifest of %s cannot be read", name);
    return status;
}

/* The caller holds the lock for fetching, so one temporary name is enough. Files that a killed process left under that
 * name are removed. */
static enum lineage_status bring(struct carrier *c, const char *name, const json_t *entries)
{
    int dir = c->store->dir_fd;
    fs_remove_tree(dir, PLACE_FETCHED);
    fs_unlink(dir, PLACE_FETCHED);
    enum lineage_status status = bring_entries(c, PLACE_FETCHED, entries);
    char directory[PLACE_MAX];
    snprintf(directory, sizeof directory, "%.*s", (int)strcspn(name, "/"), name);
    bool place = fs_mkdir(dir, directory) == 0;
    if (status == LINEAGE_OK && (!place || fs_rename(dir, PLACE_FETCHED, dir, name) != 0))
        status = failed(c, "make", name);
    if (status != LINEAGE_OK) {
        fs_remove_tree(dir, PLACE_FETCHED);
        fs_unlink(dir, PLACE_FETCHED);
    }
    return status;
}

enum lineage_status blobs_bring(struct lineage_store *store, const char *name, struct lineage_error *err)
{
    struct carrier c;
    json_auto_t *entries = NULL;
    enum lineage_status status = open_carrier(&c, store, err);
    if (status == LINEAGE_OK)
        status = read_manifest(&c, name, &entries);
    if (status == LINEAGE_OK)
        status = bring(&c, name, entries);
    close_carrier(&c);
    return status;
}

enum lineage_status blobs_find(struct lineage_store *store, const char *name, struct lineage_error *err)
{
    struct carrier c;
    json_auto_t *entries = NULL;
    enum lineage_status status = open_carrier(&c, store, err);
    if (status == LINEAGE_OK)
        status = read_manifest(&c, name, &entries);
    close_carrier(&c);
    return status;
}

enum lineage_status blobs_clean_server(struct lineage_store *store, const char *snapshots, double days,
                                       struct lineage_blob_stats *stats, struct lineage_error *err)
{
    struct carrier c;
    struct pg_result result = {0};
    char text[NUMBER_MAX];
    snprintf(text, sizeof text, "%.6f", days);
    enum lineage_status status = open_carrier(&c, store, err);
    const char *const params[] = {c.number, snapshots, text};
    if (status == LINEAGE_OK)
        status = pg_run(c.pg, &result, 10 * PG_PATIENCE,
                        "SELECT n_blobs, n_bytes FROM lineage.clean_blobs($1::integer, $2::text[], $3::double precision)", 3,
                        params, err);
    if (status == LINEAGE_OK)
        *stats = (struct lineage_blob_stats){(uint64_t)pg_int(&result, 0, 0), (uint64_t)pg_int(&result, 0, 1)};
    pg_clear(&result);
    close_carrier(&c);
    return status;
}
