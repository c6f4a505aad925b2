#include "output/ideas_out.h"

#include <stdlib.h>
#include <string.h>

#include <lineage/notes.h>

json_t *cli_settings_json(const struct lineage_settings *settings, uint64_t seq)
{
    const struct lineage_setting *setting;
    json_t *object = settings ? json_object() : NULL;
    for (size_t i = 0; settings && i < settings->n; i++) {
        json_t *values = json_array();
        for (size_t k = 0; (setting = lineage_settings_get(settings, seq, i, k)); k++)
            json_array_append_new(
                values, json_pack("{s:o, s:o, s:s, s:o}", "value",
                                  setting->value.present ? cli_json_number(setting->value.value) : cli_json_text(setting->text),
                                  "text", cli_json_text(setting->text), "source", lineage_change_source_name(setting->source),
                                  "set_by", cli_json_text(setting->set_by)));
        if (json_array_size(values))
            json_object_set(object, settings->names[i].name, values);
        json_decref(values);
    }
    return object;
}

json_t *cli_settings_sources_json(const struct lineage_settings *settings)
{
    json_t *object = json_object();
    for (size_t i = 0; settings && i < settings->n; i++) {
        json_t *sources = json_object();
        for (int s = 0; s < LINEAGE_N_CHANGE_SOURCES; s++)
            if (settings->names[i].sources[s])
                json_object_set_new(sources, lineage_change_source_name((enum lineage_change_source)s),
                                    json_integer((json_int_t)settings->names[i].sources[s]));
        if (json_object_size(sources))
            json_object_set(object, settings->names[i].name, sources);
        json_decref(sources);
    }
    if (json_object_size(object))
        return object;
    json_decref(object);
    return NULL;
}

void cli_settings_add(FILE *out, const struct lineage_settings *settings, uint64_t seq, bool blank)
{
    const struct lineage_setting *setting;
    char quoted[LINEAGE_PARAM_QUOTED_MAX];
    for (size_t i = 0; settings && i < settings->n; i++)
        for (size_t k = 0; (setting = lineage_settings_get(settings, seq, i, k)); k++) {
            char *text = cli_text_line(setting->text, 60);
            bool plain = setting->value.present || !text || !lineage_param_text_ok(text);
            fprintf(out, "%s%s=%s (%s%s%s)", blank ? " " : "", settings->names[i].name,
                    plain ? (text ? text : "") : lineage_param_text_format(quoted, text),
                    lineage_change_source_name(setting->source),
                    setting->own       ? ""
                    : *setting->set_by ? " by "
                                       : " as the first value",
                    setting->own ? "" : setting->set_by);
            free(text);
            blank = true;
        }
}

void cli_settings_explain(FILE *out, const struct lineage_settings *settings, const char *before)
{
    static const char *const verbs[LINEAGE_N_CHANGE_SOURCES][2] = {
        {"trial declares it", "trials declare it"},
        {"trial changes it in its program", "trials change it in their programs"},
        {"trial states it", "trials state it"}};
    for (size_t i = 0; settings && i < settings->n; i++) {
        const struct lineage_setting_name *name = &settings->names[i];
        if (!name->trials && !name->nearest)
            continue;
        fprintf(out, "%s%s", before, name->name);
        const char *between = ": ";
        for (int s = 0; s < LINEAGE_N_CHANGE_SOURCES; s++)
            if (name->trials && name->sources[s]) {
                fprintf(out, "%s%zu %s", between, name->sources[s], verbs[s][name->sources[s] > 1]);
                between = ", ";
            }
        char *near = name->nearest ? cli_text_line(name->nearest, 60) : NULL;
        if (!name->trials && near)
            fprintf(out, ": no trial has it; did you mean '%s', a setting that trials changed?", near);
        fputc('\n', out);
        free(near);
    }
}
