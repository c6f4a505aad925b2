/*
 * code_keep.c: stores the code of a trial that is about to run.
 *
 * The objects are written before the trial starts, and the row names them afterwards. A kill in between leaves objects
 * that no row names; they take little room, and the trial that runs again uses them.
 */
#include <fcntl.h>

#include "../files/fs.h"
#include "code_objects.h"

enum { DEPTH_MAX = 32 };

struct keeping {
    struct lineage_store *store;
    struct arena arena;
    struct lineage_code code;
    struct lineage_code_file *files; /* [LINEAGE_CODE_FILES_MAX], those of code */
    size_t total;                    /* bytes of all files */
    int depth;
    struct lineage_error *err;
};

static enum lineage_status keep_entry(struct keeping *k, int dir, const char *name, const char *path);

static enum lineage_status failed(struct keeping *k, const char *doing, const char *path)
{
    return store_fail_errno(k->err, LINEAGE_EIO, "code: cannot %s %.200s", doing, path);
}

static enum lineage_status keep_directory(struct keeping *k, int dir, const char *name, const char *path)
{
    enum lineage_status status = LINEAGE_OK;
    const char *entry;
    char below[LINEAGE_CODE_NAME_MAX];
    if (++k->depth > DEPTH_MAX)
        return store_fail(k->err, LINEAGE_ELIMIT, "code: %.200s is more than %d directories deep", path, DEPTH_MAX);
    SCOPED_LIST list = fs_list_at(dir, name, O_NOFOLLOW);
    if (!list)
        return failed(k, "list", path);
    while (status == LINEAGE_OK && (entry = fs_next(list))) {
        int n = snprintf(below, sizeof below, "%s%s%s", path, *path ? "/" : "", entry);
        status = n > 0 && (size_t)n < sizeof below
                     ? keep_entry(k, dirfd(list), entry, below)
                     : store_fail(k->err, LINEAGE_ELIMIT, "code: the path of %.200s is too long", entry);
    }
    if (status == LINEAGE_OK && errno)
        status = failed(k, "list", path);
    k->depth--;
    return status;
}

static enum lineage_status keep_file(struct keeping *k, int dir, const char *name, const char *path, const struct stat *st)
{
    struct lineage_code_file *file = &k->files[k->code.n_files];
    char *digest = arena_alloc(&k->arena, LINEAGE_CODE_DIGEST_MAX, 1), *own = arena_text(&k->arena, path, strlen(path));
    char *bytes = malloc((size_t)st->st_size + 1);
    enum lineage_status status = digest && own && bytes ? LINEAGE_OK : store_no_memory(k->err);
    int fd = status == LINEAGE_OK ? fs_open(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0) : -1;
    ssize_t n = fd >= 0 ? fs_read_at(fd, bytes, (size_t)st->st_size, 0) : -1;
    if (status == LINEAGE_OK && n < 0)
        status = failed(k, "read", path);
    fs_close(fd);
    if (status == LINEAGE_OK)
        status = code_object_put(digest, k->store, bytes, (size_t)n, k->err);
    free(bytes);
    *file = (struct lineage_code_file){own, st->st_mode & 0777, digest};
    k->code.n_files += status == LINEAGE_OK;
    k->total += (size_t)st->st_size;
    return status;
}

static enum lineage_status keep_entry(struct keeping *k, int dir, const char *name, const char *path)
{
    struct stat st;
    if (fs_stat(dir, name, AT_SYMLINK_NOFOLLOW, &st) != 0)
        return failed(k, "look at", path);
    if (S_ISDIR(st.st_mode))
        return keep_directory(k, dir, name, path);
    if (!S_ISREG(st.st_mode))
        return store_fail(k->err, LINEAGE_EINVAL, "code: %.200s is neither a file nor a directory", path);
    if (!code_name_ok(path))
        return store_fail(k->err, LINEAGE_EINVAL, "code: the name of a file must be UTF-8 without control characters");
    if (st.st_size > (off_t)LINEAGE_CODE_FILE_BYTES)
        return store_fail(k->err, LINEAGE_ELIMIT, "code: %.200s has more than %zu bytes", path, LINEAGE_CODE_FILE_BYTES);
    if (k->code.n_files == LINEAGE_CODE_FILES_MAX || k->total + (size_t)st.st_size > LINEAGE_CODE_BYTES)
        return store_fail(k->err, LINEAGE_ELIMIT, "code: more than %d files or %zu bytes", LINEAGE_CODE_FILES_MAX,
                          LINEAGE_CODE_BYTES);
    return keep_file(k, dir, name, path, &st);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct lineage_code_file *)a)->name, ((const struct lineage_code_file *)b)->name);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool has_file(const struct lineage_code *code, const char *name)
{
    const struct lineage_code_file wanted = {.name = name};
    return bsearch(&wanted, code->files, code->n_files, sizeof wanted, by_name) != NULL;
}

/* Lists the files of the sweep that dir lacks, and those that the parent lacked, each once. */
static enum lineage_status note_gone(struct keeping *k, const struct lineage_code_source *source)
{
    size_t more = source->parent ? source->parent->n_gone : 0, n = 0, kept = 0;
    const char **gone = arena_alloc(&k->arena, source->n_named + more + 1, sizeof *gone);
    if (!gone)
        return store_no_memory(k->err);
    for (size_t i = 0; i < source->n_named + more; i++) {
        const char *name = i < source->n_named ? source->named[i] : source->parent->gone[i - source->n_named];
        if (code_name_ok(name) && !has_file(&k->code, name))
            gone[n++] = name;
    }
    qsort(gone, n, sizeof *gone, by_text);
    for (size_t i = 0; i < n; i++)
        if (!kept || strcmp(gone[kept - 1], gone[i]) != 0)
            gone[kept++] = gone[i];
    k->code.gone = gone;
    k->code.n_gone = kept;
    return kept <= LINEAGE_CODE_FILES_MAX
               ? LINEAGE_OK
               : store_fail(k->err, LINEAGE_ELIMIT, "code: more than %d files", LINEAGE_CODE_FILES_MAX);
}

static enum lineage_status keep_diffs(struct keeping *k, const struct lineage_code_source *source)
{
    size_t before = source->parent ? source->parent->n_diffs : 0, length = source->diff ? strlen(source->diff) : 0;
    const char **diffs = arena_alloc(&k->arena, before + 2, sizeof *diffs);
    char *own = arena_alloc(&k->arena, LINEAGE_CODE_DIGEST_MAX, 1);
    if (!diffs || !own)
        return store_no_memory(k->err);
    if (length > LINEAGE_CODE_DIFF_BYTES || before + 1 > LINEAGE_CODE_DIFFS_MAX)
        return store_fail(k->err, LINEAGE_ELIMIT, "code: a diff of more than %zu bytes, or more than %d diffs",
                          LINEAGE_CODE_DIFF_BYTES, LINEAGE_CODE_DIFFS_MAX);
    for (size_t i = 0; i < before; i++)
        diffs[i] = source->parent->diffs[i];
    k->code.diffs = diffs;
    k->code.n_diffs = before;
    if (!source->diff)
        return LINEAGE_OK;
    diffs[k->code.n_diffs++] = own;
    return code_object_put(own, k->store, source->diff, length, k->err);
}

static enum lineage_status keep_list(struct keeping *k)
{
    SCOPED_BUF text = {0};
    code_list_print(&text, &k->code);
    if (text.failed)
        return store_no_memory(k->err);
    if (text.length > CODE_OBJECT_BYTES)
        return store_fail(k->err, LINEAGE_ELIMIT, "code: the list of files and diffs is too long");
    return code_object_put(k->code.digest, k->store, text.data, text.length, k->err);
}

static void keeping_release(struct keeping *k)
{
    arena_release(&k->arena);
}

enum lineage_status lineage_code_keep(char note[LINEAGE_CODE_NOTE_MAX], struct lineage_store *store,
                                      const struct lineage_code_source *source, struct lineage_error *err)
{
    RELEASED_BY(keeping_release) struct keeping k = {.store = store, .err = err};
    struct lineage_code_note made = {.change = ""};
    note[0] = '\0';
    TRY(store_check_owner(store, err));
    if (!(k.files = arena_alloc(&k.arena, LINEAGE_CODE_FILES_MAX, sizeof *k.files)))
        return store_no_memory(err);
    TRY(keep_directory(&k, AT_FDCWD, source->dir, ""));
    qsort(k.files, k.code.n_files, sizeof *k.files, by_name);
    k.code.files = k.files;
    TRY(note_gone(&k, source));
    TRY(keep_diffs(&k, source));
    TRY(keep_list(&k));
    memcpy(made.digest, k.code.digest, sizeof made.digest);
    if (source->diff) {
        struct lineage_diffstat stat;
        lineage_diffstat_read(&stat, source->diff, strlen(source->diff));
        lineage_diffstat_format(made.change, &stat);
    }
    lineage_code_note_format(note, &made);
    return LINEAGE_OK;
}
