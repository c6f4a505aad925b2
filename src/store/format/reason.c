/* reason.c: the piece of notes that says why a trial failed, or was ended early. */
#include <lineage/notes.h>

#include <string.h>

/* The beginnings of the reasons that cli/trial/trial_label.c writes. */
static const char *const beginnings[] = {
    "failed: ",         "failed after step ",     "killed by signal ",     "training took more than ",
    "the final evaluation took ", "it held ",     "out of memory",         "it said nothing for ",
    "exit 0 without a score",     "the preflight ", "the evaluation ",     "the protected file ",
    "its score is not a finite ", "the process that watched it ", "interrupted by the user",
    "requires ",                  "pruned at step ", NULL};

/* Pieces such as "f has 2 bytes, 1 are allowed" and "loss is not a finite number, stopped" begin with a name. */
static const char *const parts[] = {" are allowed", " is not a finite number", NULL};

const char *lineage_notes_reason(const char *notes)
{
    for (const char *at = notes ? notes : ""; at; at = (at = strchr(at, ';')) ? at + 1 : NULL) {
        at += strspn(at, " ");
        size_t n = strcspn(at, ";");
        for (const char *const *begin = beginnings; *begin; begin++)
            if (strncmp(at, *begin, strlen(*begin)) == 0)
                return at;
        for (const char *const *part = parts; *part; part++) {
            const char *found = strstr(at, *part);
            if (found && found < at + n)
                return at;
        }
    }
    return "";
}
