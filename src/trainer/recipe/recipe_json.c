/*
 * recipe_json.c: how recipes and sweeps read files. Duplicate keys are refused, because in JSON the last duplicate wins
 * while a reader may see only the first. Files above 16 MiB are refused, because such a file cannot be a recipe.
 */
#include "recipe/recipe_json.h"

#include <errno.h>
#include <sys/stat.h>

#include "support/error.h"

#define FILE_MAX (16u << 20)

/* The text is copied first, because trainer_fail prints into the buffer that it is read from. */
enum trainer_status recipe_blame(struct trainer_error *err, const char *name, enum trainer_status status)
{
    if (err) {
        char text[TRAINER_ERROR_TEXT_MAX];
        memcpy(text, err->text, sizeof text);
        trainer_fail(err, status, "%s: %s", name, text);
    }
    return status;
}

/* Messages give line and column in the form that compilers print, so that editors can jump there. */
json_t *recipe_object_parse(const char *name, const char *text, size_t length, struct trainer_error *err)
{
    json_error_t error;
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (!root) {
        trainer_fail(err, TRAINER_EINVAL, "%s:%d:%d: %s", name, error.line, error.column, error.text);
        return NULL;
    }
    if (json_is_object(root))
        return root;
    json_decref(root);
    trainer_fail(err, TRAINER_EINVAL, "%s: must be a JSON object", name);
    return NULL;
}

/*
 * Reads to the end and ignores the file's size, because the file may be a pipe. Reads up to one byte more than allowed,
 * to detect a file that is too large.
 */
static enum trainer_status read_stream(char **text, size_t *length, FILE *in, const char *path, struct trainer_error *err)
{
    *text = malloc(FILE_MAX + 1u);
    if (!*text)
        return trainer_no_memory(err, FILE_MAX);
    *length = fread(*text, 1, FILE_MAX + 1u, in);
    if (ferror(in))
        return trainer_fail(err, TRAINER_EIO, "%s: %s", path, strerror(errno));
    if (*length > FILE_MAX)
        return trainer_fail(err, TRAINER_EINVAL, "%s: larger than %u bytes", path, FILE_MAX);
    return TRAINER_OK;
}

enum trainer_status recipe_file_read(char **text, size_t *length, const char *path, struct trainer_error *err)
{
    *text = NULL;
    struct stat about;
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode)) /* it might never end */
        return trainer_fail(err, TRAINER_EINVAL, "%s is not a regular file", path);
    FILE *in = fopen(path, "rb");
    if (!in)
        return trainer_fail(err, errno == ENOENT ? TRAINER_ENOTFOUND : TRAINER_EIO, "%s: %s", path, strerror(errno));
    enum trainer_status status = read_stream(text, length, in, path, err);
    fclose(in);
    if (status != TRAINER_OK) {
        free(*text);
        *text = NULL;
    }
    return status;
}
