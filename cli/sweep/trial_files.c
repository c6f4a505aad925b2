#include "sweep/night_sweep.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <lineage/render.h>

#include "git/git.h"

static bool refuse(char *why, const char *what, const char *name, const char *reason)
{
    snprintf(why, NIGHT_WHY_MAX, "%s%.200s%s%.300s", what, name, *reason ? ": " : "", reason);
    return false;
}

struct file {
    char *text; /* [length] and a NUL; lineage_free */
    size_t length;
    unsigned mode;
};

/* Reads the file dir/name. O_NONBLOCK, because opening a pipe without a writer would block the night. Only the sweep's own
 * file may be a link. */
static bool read_below(struct file *file, const char *dir, const char *name, bool may_be_link)
{
    char path[PATH_MAX];
    struct stat st;
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = n < PATH_MAX ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | (may_be_link ? 0 : O_NOFOLLOW)) : -1;
    FILE *in = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? fdopen(fd, "r") : NULL;
    if (!in) {
        int error = n >= PATH_MAX ? ENAMETOOLONG : fd >= 0 ? EINVAL : errno;
        cli_close(fd);
        return errno = error, false;
    }
    file->text = malloc(LINEAGE_CODE_FILE_BYTES + 2);
    file->length = file->text ? fread(file->text, 1, LINEAGE_CODE_FILE_BYTES + 1, in) : 0;
    file->mode = st.st_mode & 0777;
    int error = !file->text ? ENOMEM : file->length > LINEAGE_CODE_FILE_BYTES ? EFBIG : ferror(in) ? EIO : 0;
    fclose(in);
    if (!error)
        return file->text[file->length] = '\0', true;
    free(file->text);
    file->text = NULL;
    return errno = error, false;
}

static const struct lineage_code_file *find_stored(const struct trial_files *files, const char *name)
{
    const struct lineage_code *code = &files->parent->code;
    for (size_t i = 0; files->parent->has_code && i < code->n_files; i++)
        if (strcmp(code->files[i].name, name) == 0)
            return &code->files[i];
    return NULL;
}

static const json_t *protect_of(const struct trial_files *files)
{
    return json_object_get(files->spec ? files->spec : files->sweep->root, "protect");
}

/* Whether a diff that led to the parent has removed the file. A protected file remains. */
static bool is_gone(const struct trial_files *files, const char *name)
{
    const struct lineage_code *code = &files->parent->code;
    if (protected_names_has(protect_of(files), name))
        return false;
    for (size_t i = 0; files->parent->has_code && i < code->n_gone; i++)
        if (strcmp(code->gone[i], name) == 0)
            return true;
    return false;
}

/* A protected file never comes from a parent, which may have been recorded before the file was protected. */
static bool read_file(struct file *file, const struct trial_files *files, const char *name, char *why)
{
    struct lineage_error err;
    *file = (struct file){.mode = 0644};
    bool from_sweep = protected_names_has(protect_of(files), name);
    if (!from_sweep && files->parent->snapshot && read_below(file, files->parent->snapshot, name, false))
        return true;
    const struct lineage_code_file *stored = from_sweep ? NULL : find_stored(files, name);
    if (stored) {
        file->mode = stored->mode;
        if (lineage_code_read(&file->text, &file->length, files->store, stored->digest, &err) == LINEAGE_OK)
            return true;
        return refuse(why, "files: ", name, err.text);
    }
    return read_below(file, files->sweep->directory, name, true) || refuse(why, "files: ", name, strerror(errno));
}

/* Creates missing parent directories. */
static bool write_file(const char *dir, const char *name, const struct file *file)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);
    if (n >= PATH_MAX)
        return errno = ENAMETOOLONG, false;
    for (char *slash = path + strlen(dir) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(path, 0777);
        *slash = '/';
    }
    FILE *out = fopen(path, "we");
    bool written =
        out && fwrite(file->text, 1, file->length, out) == file->length && fchmod(fileno(out), (file->mode & 0777) | 0600) == 0;
    return (out ? fclose(out) == 0 : false) && written;
}

static bool copy_file(const struct trial_files *files, const char *dir, const char *name, char *why)
{
    struct file file;
    if (is_gone(files, name))
        return true;
    bool read = read_file(&file, files, name, why), copied = read && write_file(dir, name, &file);
    int error = errno;
    lineage_free(file.text);
    return copied || (read ? refuse(why, "files: ", name, strerror(error)) : false);
}

/* Returns the name of file i: first the sweep's files, then the parent's, which include the sweep's again. NULL beyond
 * the last one. */
static const char *name_at(const struct trial_files *files, size_t i)
{
    const json_t *named = json_object_get(files->sweep->root, "files");
    size_t n = json_array_size(named), stored = files->parent->has_code ? files->parent->code.n_files : 0;
    return i < n ? json_string_value(json_array_get(named, i)) : i < n + stored ? files->parent->code.files[i - n].name : NULL;
}

json_t *trial_files_texts(const struct trial_files *files)
{
    char why[NIGHT_WHY_MAX];
    const char *name;
    json_t *texts = json_object();
    for (size_t i = 0; (name = name_at(files, i)); i++) {
        struct file file;
        if (json_object_get(texts, name) || is_gone(files, name) || !read_file(&file, files, name, why))
            continue;
        json_object_set_new(texts, name, json_stringn(file.text, file.length));
        lineage_free(file.text);
    }
    return texts;
}

static bool is_protected(const void *context, const char *path)
{
    return protected_names_has(protect_of(context), path);
}

bool trial_files_put(const struct trial_files *files, const char *dir, char why[NIGHT_WHY_MAX])
{
    const char *name, *diff = cli_json_string(files->spec, "diff");
    why[0] = '\0';
    for (size_t i = 0; (name = name_at(files, i)); i++)
        if (!copy_file(files, dir, name, why))
            return false;
    return !diff || apply_diff(diff, dir, is_protected, files, why, NIGHT_WHY_MAX);
}

bool trial_files_try(const struct trial_files *files, const char *place, char why[NIGHT_WHY_MAX])
{
    char here[PATH_MAX], dir[PATH_MAX];
    if (!realpath(place, here) || snprintf(dir, sizeof dir, "%s/diff-XXXXXX", here) >= PATH_MAX || !mkdtemp(dir))
        return refuse(why, "diff: ", "no place to try it", strerror(errno));
    bool good = trial_files_put(files, dir, why);
    workdir_remove_tree(AT_FDCWD, dir);
    return good;
}

bool trial_files_keep(char note[LINEAGE_CODE_NOTE_MAX], const struct trial_files *files, const char *dir, char why[NIGHT_WHY_MAX])
{
    const json_t *named = json_object_get(files->sweep->root, "files");
    struct lineage_error err;
    size_t n = json_array_size(named);
    note[0] = '\0';
    if (!named)
        return true;
    const char **names = calloc(n + 1, sizeof *names);
    if (!names)
        return refuse(why, "files: ", "out of memory", "");
    for (size_t i = 0; i < n; i++)
        names[i] = json_string_value(json_array_get(named, i));
    const struct lineage_code_source source = {.dir = dir,
                                               .diff = cli_json_string(files->spec, "diff"),
                                               .parent = files->parent->has_code ? &files->parent->code : NULL,
                                               .named = names,
                                               .n_named = n};
    bool kept = lineage_code_keep(note, files->store, &source, &err) == LINEAGE_OK;
    free((void *)names);
    return kept || refuse(why, "", err.text, "");
}
