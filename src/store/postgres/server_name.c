/*
 * server_name.c: parses the name of a store on a server. This file handles only the store's name, which libpq does not
 * know, and refuses passwords; libpq interprets the rest.
 */
#include "server_name.h"

#include <fcntl.h>

#include <xxhash.h>

#include "../files/fs.h"
#include "../files/places.h"
#include "../files/state_dir.h"
#include "../format/arena.h"
#include "../format/ascii.h"

static const char *behind_scheme(const char *text)
{
    static const char *const schemes[] = {"postgres://", "postgresql://"};
    for (size_t i = 0; i < 2; i++)
        if (strncmp(text, schemes[i], strlen(schemes[i])) == 0)
            return text + strlen(schemes[i]);
    return NULL;
}

bool server_name_is(const char *text)
{
    return behind_scheme(text) != NULL;
}

/* A password is refused before its text can get into a message. */
static enum lineage_status no_password(struct lineage_error *err)
{
    return store_fail(err, LINEAGE_EINVAL,
                      "a password does not belong in the name of a store, where everybody sees it; libpq takes it from "
                      "~/.pgpass, a service file or PGPASSWORD");
}

/* The same rule as on the server (schema/postgresql/001_log.sql). */
static enum lineage_status take_store(struct server_name *name, const char *text, size_t length, struct lineage_error *err)
{
    bool ok = length && length < SERVER_STORE_MAX && ascii_is_word(text[0]);
    for (size_t i = 0; ok && i < length; i++)
        ok = ascii_is_word(text[i]) || strchr("._-", text[i]);
    if (!ok)
        return store_fail(err, LINEAGE_EINVAL,
                          "'%.*s' is not the name of a store on a server: letters, digits, . _ - (63 at most)",
                          (int)(length < 80 ? length : 80), text);
    memcpy(name->store, text, length);
    name->store[length] = '\0';
    return LINEAGE_OK;
}

static bool is_keyword(const char *pair, size_t length, const char *keyword)
{
    size_t n = strlen(keyword);
    return length > n && pair[n] == '=' && strncmp(pair, keyword, n) == 0;
}

/* All keywords except the store are passed to libpq. */
static enum lineage_status take_keywords(struct server_name *name, const char *query, struct buf *uri, struct lineage_error *err)
{
    char between = '?';
    while (*query) {
        size_t length = strcspn(query, "&");
        if (memchr(query, '%', strcspn(query, "=&"))) /* libpq would decode p%61ssword as password */
            return store_fail(err, LINEAGE_EINVAL, "the keywords in the name of a store are written in plain letters");
        if (is_keyword(query, length, "password") || is_keyword(query, length, "sslpassword"))
            return no_password(err);
        if (is_keyword(query, length, "store")) {
            TRY(take_store(name, query + 6, length - 6, err));
        } else if (length) {
            buf_put(uri, between);
            buf_add(uri, query, length);
            between = '&';
        }
        query += length + (query[length] == '&');
    }
    return LINEAGE_OK;
}

static enum lineage_status take_path(struct server_name *name, const char *path, size_t length, struct buf *uri,
                                     struct lineage_error *err)
{
    const char *slash = length ? memchr(path, '/', length) : NULL;
    if (!slash || slash + 1 == path + length) {
        buf_add(uri, path, slash ? length - 1 : length);
        return LINEAGE_OK;
    }
    buf_add(uri, path, (size_t)(slash - path));
    return take_store(name, slash + 1, length - (size_t)(slash + 1 - path), err);
}

static enum lineage_status take_apart(struct server_name *name, const char *text, struct buf *uri, struct lineage_error *err)
{
    const char *rest = behind_scheme(text);
    if (!rest) /* a lineage.json may say anything */
        return store_fail(err, LINEAGE_EINVAL, "'%.80s' does not name a store on a server: postgres://HOST/DATABASE/STORE", text);
    size_t authority = strcspn(rest, "/?");
    const char *at = memchr(rest, '@', authority);
    if (at && memchr(rest, ':', (size_t)(at - rest)))
        return no_password(err);
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c <= 0x20 || *c == 0x7f)
            return store_fail(err, LINEAGE_EINVAL, "blanks and control characters in the name of a store are written as %%XX");
    buf_puts(uri, "postgresql://");
    buf_add(uri, rest, authority);
    rest += authority;
    if (*rest == '/') {
        size_t path = strcspn(++rest, "?");
        buf_puts(uri, "/");
        TRY(take_path(name, rest, path, uri, err));
        rest += path;
    }
    return *rest == '?' ? take_keywords(name, rest + 1, uri, err) : LINEAGE_OK;
}

enum lineage_status server_name_parse(struct server_name *name, const char *text, struct lineage_error *err)
{
    struct buf uri = {0};
    *name = (struct server_name){.store = "default"};
    enum lineage_status status = take_apart(name, text, &uri, err);
    if (status == LINEAGE_OK && (uri.failed || !(name->shown = strdup(text))))
        status = store_no_memory(err);
    if (status == LINEAGE_OK)
        name->uri = uri.data;
    else
        buf_release(&uri);
    return status;
}

void server_name_release(struct server_name *name)
{
    free(name->uri);
    free(name->shown);
    *name = (struct server_name){0};
}

/* Writes the text of lineage.json, {"log": NAME}. A name has no control characters and no quotes that are percent-encoded, but plain ones must be escaped in JSON. */
static void server_name_settings(struct buf *out, const char *text)
{
    buf_puts(out, "{\n  \"log\": \"");
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            buf_put(out, '\\');
        buf_put(out, *text);
    }
    buf_puts(out, "\"\n}\n");
}

/* The digest covers the whole name. So one store under two names has two directories, but two stores never share a
 * directory. */
static enum lineage_status find_dir(struct buf *path, const char *text, struct lineage_error *err)
{
    struct server_name name;
    SCOPED_BUF what = {0};
    TRY(server_name_parse(&name, text, err));
    unsigned long long digest = XXH3_64bits(behind_scheme(text), strlen(behind_scheme(text)));
    buf_printf(&what, "the mirror of %s is to be", text);
    enum lineage_status status = what.failed ? store_no_memory(err) : state_dir_path(path, what.data, err);
    if (status == LINEAGE_OK)
        buf_printf(path, "/%s-%016llx", name.store, digest);
    server_name_release(&name);
    return status == LINEAGE_OK && path->failed ? store_no_memory(err) : status;
}

static enum lineage_status write_settings(const char *dir, const char *text, struct lineage_error *err)
{
    SCOPED_BUF settings = {0};
    struct stat st;
    enum lineage_status status = LINEAGE_OK;
    int fd = fs_open(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return store_fail_errno(err, LINEAGE_EIO, "cannot open %s", dir);
    if (fs_stat(fd, PLACE_CONFIG, 0, &st) != 0) {
        server_name_settings(&settings, text);
        status = settings.failed ? store_no_memory(err) : fs_replace(fd, PLACE_CONFIG, settings.data, settings.length, true, err);
        if (status == LINEAGE_OK)
            status = trust_record_write(fd, dir, text, err);
    }
    fs_close(fd);
    return status;
}

enum lineage_status server_name_make_dir(char **dir, const char *text, struct lineage_error *err)
{
    struct buf path = {0};
    *dir = NULL;
    enum lineage_status status = find_dir(&path, text, err);
    if (status == LINEAGE_OK)
        status = state_dir_make_parents(path.data, err);
    if (status == LINEAGE_OK && fs_mkdir_new(AT_FDCWD, path.data, 0700) != 0 && !fs_is_dir(AT_FDCWD, path.data))
        status = store_fail_errno(err, LINEAGE_EIO, "cannot make the directory %s", path.data);
    if (status == LINEAGE_OK)
        status = write_settings(path.data, text, err);
    if (status == LINEAGE_OK)
        *dir = path.data;
    else
        buf_release(&path);
    return status;
}
