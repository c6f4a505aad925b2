/*
 * fuzz_code.c: reads arbitrary bytes as the list of a trial's code, and as pieces of notes that name code. A list that is
 * accepted is the text that the list prints, and has no name that leads out of a directory.
 */
#include <stdlib.h>
#include <string.h>

#include "code/code_objects.h"
#include "fuzz.h"

static void read_list(const char *text, size_t size)
{
    struct lineage_code code = {0};
    struct lineage_error err = {0};
    struct arena arena = {0};
    struct buf out = {0};
    char *copy = malloc(size + 1);
    fuzz_assert(copy != NULL);
    memcpy(copy, text, size + 1);
    enum lineage_status status = code_list_parse(&code, &arena, copy, &err);
    fuzz_assert(status == LINEAGE_OK || (err.text[0] && !strchr(err.text, '\n')));
    if (status == LINEAGE_OK) {
        for (size_t i = 0; i < code.n_files; i++)
            fuzz_assert(code_name_ok(code.files[i].name) && code.files[i].name[0] != '/' && !strstr(code.files[i].name, "../"));
        code_list_print(&out, &code);
        fuzz_assert(!out.failed && out.length == strlen(text) && memcmp(out.data, text, out.length) == 0);
    }
    buf_release(&out);
    arena_release(&arena);
    free(copy);
}

static void read_notes(const char *text)
{
    struct lineage_code_note note, again;
    struct lineage_commit_note commit;
    char piece[LINEAGE_CODE_NOTE_MAX];
    if (lineage_code_note_parse(&note, text))
        fuzz_assert(lineage_code_note_parse(&again, lineage_code_note_format(piece, &note)) &&
                    strcmp(note.digest, again.digest) == 0);
    if (lineage_commit_note_parse(&commit, text))
        fuzz_assert(lineage_commit_note_parse(&commit, lineage_commit_note_format(piece, &commit)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    fuzz_assert(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    read_list(text, size);
    read_notes(text);
    free(text);
    return 0;
}
