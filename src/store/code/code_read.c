/* code_read.c: reads the code of a trial, and writes it into a directory. */
#include <fcntl.h>

#include <lineage/text.h>

#include "../files/fs.h"
#include "code_objects.h"

static const char head[] = "lineage code 1";

bool code_name_ok(const char *name)
{
    size_t n = strlen(name);
    if (!n || n >= LINEAGE_CODE_NAME_MAX || !lineage_text_is_utf8(name, n))
        return false;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f)
            return false;
    for (const char *part = name; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL) {
        size_t length = strcspn(part, "/");
        if (!length || (length == 1 && part[0] == '.') || (length == 2 && memcmp(part, "..", 2) == 0))
            return false;
    }
    return true;
}

void code_list_print(struct buf *out, const struct lineage_code *code)
{
    buf_printf(out, "%s\n", head);
    for (size_t i = 0; i < code->n_files; i++)
        buf_printf(out, "file %03o %s %s\n", code->files[i].mode, code->files[i].digest, code->files[i].name);
    for (size_t i = 0; i < code->n_gone; i++)
        buf_printf(out, "gone %s\n", code->gone[i]);
    for (size_t i = 0; i < code->n_diffs; i++)
        buf_printf(out, "diff %s\n", code->diffs[i]);
}

/* Reads "644 DIGEST NAME". The line is changed. */
static bool take_file(struct lineage_code_file *file, char *line)
{
    char *end, *name = line + 4 + LINEAGE_CODE_DIGEST_MAX;
    if (strlen(line) < 5 + LINEAGE_CODE_DIGEST_MAX || strspn(line, "01234567") != 3 || line[3] != ' ' || name[-1] != ' ')
        return false;
    name[-1] = '\0';
    *file = (struct lineage_code_file){name, (unsigned)strtoul(line, &end, 8), line + 4};
    return code_is_digest(file->digest) && code_name_ok(name);
}

static size_t count(const char *text, const char *word)
{
    size_t n = 0;
    for (const char *at = text; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        n += strncmp(at, word, strlen(word)) == 0;
    return n;
}

/* Names are sorted and thus different, so that no file is written twice. */
static bool is_sorted(const struct lineage_code *code)
{
    for (size_t i = 1; i < code->n_files; i++)
        if (strcmp(code->files[i - 1].name, code->files[i].name) >= 0)
            return false;
    return code->n_files <= LINEAGE_CODE_FILES_MAX && code->n_gone <= LINEAGE_CODE_FILES_MAX &&
           code->n_diffs <= LINEAGE_CODE_DIFFS_MAX;
}

enum lineage_status code_list_parse(struct lineage_code *code, struct arena *arena, char *text, struct lineage_error *err)
{
    struct lineage_code_file *files = arena_alloc(arena, count(text, "file ") + 1, sizeof *files);
    const char **gone = arena_alloc(arena, count(text, "gone ") + 1, sizeof *gone);
    const char **diffs = arena_alloc(arena, count(text, "diff ") + 1, sizeof *diffs);
    char *rest = text, *line = strsep(&rest, "\n");
    if (!files || !gone || !diffs)
        return store_no_memory(err);
    bool good = line && rest && strcmp(line, head) == 0;
    while (good && (line = strsep(&rest, "\n")) && (*line || rest)) {
        if (!rest) /* without a line end, a name may have been cut */
            good = false;
        else if (strncmp(line, "file ", 5) == 0 && !code->n_gone && !code->n_diffs)
            good = take_file(&files[code->n_files++], line + 5);
        else if (strncmp(line, "gone ", 5) == 0 && !code->n_diffs)
            good = code_name_ok(gone[code->n_gone++] = line + 5);
        else
            good = strncmp(line, "diff ", 5) == 0 && code_is_digest(diffs[code->n_diffs++] = line + 5);
    }
    code->files = files;
    code->gone = gone;
    code->diffs = diffs;
    return good && is_sorted(code) ? LINEAGE_OK
                                   : store_fail(err, LINEAGE_ECORRUPT, "the list of code %s is not one", code->digest);
}

struct owned {
    struct arena arena;
    struct buf text;
};

enum lineage_status lineage_code_load(struct lineage_code *code, struct lineage_store *store, const struct lineage_trial *trial,
                                      struct lineage_error *err)
{
    struct lineage_code_note note;
    *code = (struct lineage_code){0};
    enum lineage_status status = store_check_owner(store, err);
    if (status != LINEAGE_OK)
        return status;
    if (!lineage_code_note_parse(&note, trial->notes))
        return store_fail(
            err, LINEAGE_ENOTFOUND,
            "trial '%.80s' has no stored code; that of a trial in a git repository is its ref: see 'lineage refs' and "
            "'lineage diff'",
            trial->exp_id ? trial->exp_id : "");
    struct owned *owned = calloc(1, sizeof *owned);
    if (!owned)
        return store_no_memory(err);
    code->memory = owned;
    memcpy(code->digest, note.digest, sizeof code->digest);
    code->changed = note.change[0] != '\0';
    status = code_object_get(&owned->text, store, code->digest, err);
    if (status == LINEAGE_OK && strlen(owned->text.data) != owned->text.length)
        status = store_fail(err, LINEAGE_ECORRUPT, "the list of code %s contains a NUL", code->digest);
    if (status == LINEAGE_OK)
        status = code_list_parse(code, &owned->arena, owned->text.data, err);
    if (status == LINEAGE_OK && code->changed && !code->n_diffs)
        status = store_fail(err, LINEAGE_ECORRUPT, "the list of code %s names no diff, and trial '%.80s' made one", code->digest,
                            trial->exp_id ? trial->exp_id : "");
    if (status != LINEAGE_OK)
        lineage_code_release(code);
    return status;
}

void lineage_code_release(struct lineage_code *code)
{
    struct owned *owned = code ? code->memory : NULL;
    if (owned) {
        arena_release(&owned->arena);
        buf_release(&owned->text);
    }
    free(owned);
    if (code)
        *code = (struct lineage_code){0};
}

enum lineage_status lineage_code_read(char **text, size_t *length, struct lineage_store *store, const char *digest,
                                      struct lineage_error *err)
{
    struct buf out = {0};
    *text = NULL;
    *length = 0;
    enum lineage_status status = store_check_owner(store, err);
    if (status == LINEAGE_OK)
        status = code_object_get(&out, store, digest, err);
    if (status != LINEAGE_OK) {
        buf_release(&out);
        return status;
    }
    *text = out.data;
    *length = out.length;
    return LINEAGE_OK;
}

enum lineage_status lineage_code_diff(char **text, size_t *length, struct lineage_store *store, const struct lineage_trial *trial,
                                      struct lineage_error *err)
{
    struct lineage_code code;
    *text = NULL;
    *length = 0;
    enum lineage_status status = lineage_code_load(&code, store, trial, err);
    if (status == LINEAGE_OK && !code.changed)
        status = store_fail(err, LINEAGE_ENOTFOUND, "trial '%.80s' did not change its code", trial->exp_id ? trial->exp_id : "");
    if (status == LINEAGE_OK)
        status = lineage_code_read(text, length, store, code.diffs[code.n_diffs - 1], err);
    lineage_code_release(&code);
    return status;
}

/* Opens the directory of a file below `dir`, and makes missing ones. *name becomes the last part of the path. */
static int open_parent(int dir, const char **name)
{
    char part[LINEAGE_CODE_NAME_MAX];
    int fd = fs_open(dir, ".", O_RDONLY | O_DIRECTORY, 0);
    for (const char *slash; fd >= 0 && (slash = strchr(*name, '/')); *name = slash + 1) {
        memcpy(part, *name, (size_t)(slash - *name));
        part[slash - *name] = '\0';
        int below = fs_mkdir(fd, part) == 0 ? fs_open(fd, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0) : -1;
        int saved = errno;
        fs_close(fd);
        errno = saved;
        fd = below;
    }
    return fd;
}

/* Removes what has the name first, so that neither a link nor the other name of a hard link is written through. */
static enum lineage_status write_file(int dir, const struct lineage_code_file *file, const struct buf *bytes,
                                      struct lineage_error *err)
{
    const char *name = file->name;
    int parent = open_parent(dir, &name);
    if (parent >= 0)
        fs_unlink(parent, name);
    int fd = parent >= 0 ? fs_open(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600) : -1;
    bool written = fd >= 0 && fs_write_all(fd, bytes->data, bytes->length) == 0 && fs_chmod(fd, (file->mode & 0777) | 0600) == 0;
    int saved = errno;
    if (fd >= 0 && fs_close(fd) != 0 && written) {
        saved = errno;
        written = false;
    }
    fs_close(parent);
    errno = saved;
    return written ? LINEAGE_OK : store_fail_errno(err, LINEAGE_EIO, "cannot write the file %.200s", file->name);
}

enum lineage_status lineage_code_write(struct lineage_store *store, const struct lineage_code *code, const char *dir,
                                       struct lineage_error *err)
{
    size_t total = 0;
    struct buf *bytes = calloc(code->n_files + 1, sizeof *bytes);
    int fd = bytes ? fs_open(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0) : -1;
    enum lineage_status status = bytes ? store_check_owner(store, err) : store_no_memory(err);
    if (status == LINEAGE_OK && fd < 0)
        status = store_fail_errno(err, LINEAGE_EIO, "cannot open the directory %.200s", dir);
    for (size_t i = 0; status == LINEAGE_OK && i < code->n_files; i++) {
        status = code_object_get(&bytes[i], store, code->files[i].digest, err);
        total += bytes[i].length;
        if (status == LINEAGE_OK && total > LINEAGE_CODE_BYTES)
            status = store_fail(err, LINEAGE_ELIMIT, "the files of code %s have more than %zu bytes", code->digest,
                                LINEAGE_CODE_BYTES);
    }
    for (size_t i = 0; status == LINEAGE_OK && i < code->n_files; i++)
        status = write_file(fd, &code->files[i], &bytes[i], err);
    for (size_t i = 0; bytes && i < code->n_files; i++)
        buf_release(&bytes[i]);
    free(bytes);
    fs_close(fd);
    return status;
}
