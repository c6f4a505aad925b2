/* render.c: renders one block as text. */
#include "render.h"

void lineage_render_options_init(struct lineage_render_options *options)
{
    *options = (struct lineage_render_options){.top_k = 20, .recent = 30, .full = 10, .max_bytes = LINEAGE_RENDER_BYTES};
}

enum lineage_status lineage_render(char **text, size_t *length, struct lineage_store *store,
                                   const struct lineage_render_options *options, struct lineage_error *err)
{
    struct lineage_render_options defaults;
    struct buf out = {0};
    *text = NULL;
    *length = 0;
    lineage_render_options_init(&defaults);
    if (!options)
        options = &defaults;
    enum lineage_status status = options->style == LINEAGE_STYLE_FIELDKIT ? render_fieldkit(&out, store, options, err)
                                                                          : render_native(&out, store, options, err);
    /* Printers do not check each addition, because after a failure all later ones do nothing. */
    if (status == LINEAGE_OK && out.failed)
        status = store_no_memory(err);
    if (status != LINEAGE_OK) {
        buf_release(&out);
        return status;
    }
    *text = out.data;
    *length = out.length;
    return LINEAGE_OK;
}
