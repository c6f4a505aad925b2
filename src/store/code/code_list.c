#include "code_objects.h"

#include <stdlib.h>
#include <string.h>

#include <lineage/text.h>

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
