/* trial_files.c: see trial_files.h. */
#include "sweep/trial_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "git/apply_diff.h"
#include "trial/workdir.h"

enum { TEXT_MAX = 1 << 20 };

static bool refuse(char *why, const char *what, const char *name, const char *reason)
{
    snprintf(why, NIGHT_WHY_MAX, "%s%.200s%s%.300s", what, name, *reason ? ": " : "", reason);
    return false;
}

/* ---- files ---- */

static bool is_regular(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Finds the file in the parent's snapshot or in the directory of the sweep. Returns false if the path is too long. */
static bool find_file(char path[PATH_MAX], const struct night_sweep *sweep, const char *snapshot, const char *name)
{
    int n = snapshot ? snprintf(path, PATH_MAX, "%s/%s", snapshot, name) : PATH_MAX;
    if (n < PATH_MAX && is_regular(path))
        return true;
    n = snprintf(path, PATH_MAX, "%s/%s", sweep->directory, name);
    return n < PATH_MAX;
}

static char *read_text(const char *path, size_t *length)
{
    FILE *in = fopen(path, "re");
    char *text = in ? malloc(TEXT_MAX + 1) : NULL;
    *length = text ? fread(text, 1, TEXT_MAX + 1, in) : 0;
    int error = text && *length > TEXT_MAX ? EFBIG : errno;
    if (in)
        fclose(in);
    if (text && *length <= TEXT_MAX)
        return text;
    free(text);
    errno = error;
    return NULL;
}

/* Creates missing parent directories. */
static bool write_text(const char *dir, const char *name, const char *text, size_t length)
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
    bool written = out && fwrite(text, 1, length, out) == length;
    return (out ? fclose(out) == 0 : false) && written;
}

static bool copy_file(const struct trial_files *files, const char *dir, const char *name, char *why)
{
    char path[PATH_MAX];
    size_t length;
    char *text = find_file(path, files->sweep, files->parent_snapshot, name) ? read_text(path, &length) : NULL;
    bool copied = text && write_text(dir, name, text, length);
    free(text);
    return copied || refuse(why, "files: ", name, strerror(errno));
}

json_t *trial_files_texts(const struct night_sweep *sweep, const char *parent_snapshot)
{
    size_t i, length;
    json_t *name, *texts = json_object();
    json_array_foreach(json_object_get(sweep->root, "files"), i, name)
    {
        char path[PATH_MAX];
        char *text = find_file(path, sweep, parent_snapshot, json_string_value(name)) ? read_text(path, &length) : NULL;
        if (text)
            json_object_set_new(texts, json_string_value(name), json_stringn(text, length));
        free(text);
    }
    return texts;
}

/* ---- all of them ---- */

bool trial_files_put(const struct trial_files *files, const char *dir, char why[NIGHT_WHY_MAX])
{
    const char *diff = json_string_value(json_object_get(files->spec, "diff"));
    size_t i;
    json_t *name;
    why[0] = '\0';
    json_array_foreach(json_object_get(files->sweep->root, "files"), i, name)
        if (!copy_file(files, dir, json_string_value(name), why))
            return false;
    return !diff || apply_diff(diff, dir, json_object_get(files->spec, "protect"), why, NIGHT_WHY_MAX);
}

bool trial_files_try(const struct trial_files *files, const char *parent, char why[NIGHT_WHY_MAX])
{
    char here[PATH_MAX], dir[PATH_MAX];
    if (!realpath(parent, here) || snprintf(dir, sizeof dir, "%s/diff-XXXXXX", here) >= PATH_MAX || !mkdtemp(dir))
        return refuse(why, "diff: ", "no place to try it", strerror(errno));
    bool good = trial_files_put(files, dir, why);
    workdir_remove_tree(AT_FDCWD, dir);
    return good;
}
