/* redact_files.h: takes a secret out of the files beside results.tsv. */
#pragma once

#include <lineage/redact.h>

#include "forms.h"

/*
 * Overwrites the secret in every regular file below the store's directory, in place, because files of provenance/ share their
 * bytes by hard links, and because the length stays. Links are not followed. Names that contain the secret are reported as left.
 * With only_look, nothing is changed, and every place that is found counts as left; then results.tsv is searched, too.
 */
enum lineage_status redact_files(struct lineage_store *store, const struct forms *forms, bool only_look,
                                 struct lineage_redaction *done, lineage_redact_fn *report, void *context,
                                 struct lineage_error *err);
