/* forms.h: the spellings in which a store may contain a secret. */
#pragma once

#include <lineage/status.h>

#include "../format/arena.h"

enum { FORMS_MAX = 16 };

/* A zeroed struct is empty. */
struct forms {
    struct buf at[FORMS_MAX]; /* different texts, the longest first */
    size_t n, longest;
};

enum lineage_status forms_make(struct forms *forms, const char *secret, size_t length, struct lineage_error *err);
void forms_release(struct forms *forms);

/* Length of the form that begins at text, of which `length` bytes are known; 0: none does. */
size_t forms_match(const struct forms *forms, const char *text, size_t length);
