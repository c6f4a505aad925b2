#include "output/ideas_out.h"
#include "output/show.h"

/* At most this many functions of a file are named; `diff --stat` names all. */
enum { PARTS_SHOWN = 6 };

static const char *kind_name(enum lineage_lines_kind kind)
{
    return kind == LINEAGE_LINES_BINARY ? "binary" : kind == LINEAGE_LINES_LARGE ? "large" : "text";
}

/* The index behind the parts of the file at `at`. */
static size_t end_of_file(const struct lineage_measured *measured, size_t at)
{
    size_t end = at + 1;
    while (end < measured->n_lines && measured->lines[end].heading)
        end++;
    return end;
}

json_t *cli_measured_lines_json(const struct lineage_measured *measured, size_t max_files, size_t max_parts)
{
    json_t *list = json_array();
    for (size_t i = 0, end; i < measured->n_lines && (!max_files || json_array_size(list) < max_files); i = end) {
        const struct lineage_measured_lines *file = &measured->lines[i];
        json_t *parts = json_array();
        end = end_of_file(measured, i);
        for (size_t k = i + 1; k < end && (!max_parts || k <= i + max_parts); k++)
            json_array_append_new(parts, json_pack("{s:o, s:I, s:I}", "name", cli_json_text(measured->lines[k].heading), "added",
                                                   (json_int_t)measured->lines[k].added, "removed",
                                                   (json_int_t)measured->lines[k].removed));
        json_array_append_new(list, json_pack("{s:o, s:I, s:I, s:s, s:o}", "file", cli_json_text(file->file), "added",
                                              (json_int_t)file->added, "removed", (json_int_t)file->removed, "kind",
                                              kind_name(file->kind), "parts", parts));
    }
    return list;
}

static void put_lines(FILE *out, const char *name, const struct lineage_measured_lines *lines)
{
    cli_print(out, "%.0s", *name ? name : "(outside of functions)");
    if (lines->kind == LINEAGE_LINES_COUNTED)
        fprintf(out, " +%zu -%zu", lines->added, lines->removed);
    else
        fprintf(out, " (%s)", kind_name(lines->kind));
}

void cli_measured_show(const struct lineage_measured *measured, const struct cli_screen *screen)
{
    for (size_t i = 0, end; i < measured->n_lines; i = end) {
        struct cli_writer text = {0};
        FILE *out = cli_writer_open(&text);
        end = end_of_file(measured, i);
        if (!out)
            return;
        put_lines(out, measured->lines[i].file, &measured->lines[i]);
        for (size_t k = i + 1; k < end && k < i + 1 + PARTS_SHOWN; k++) {
            if (end == i + 2 && !*measured->lines[k].heading)
                continue; /* all of it is outside of functions */
            fputs(k == i + 1 ? ": " : ", ", out);
            put_lines(out, measured->lines[k].heading, &measured->lines[k]);
        }
        if (end > i + 1 + PARTS_SHOWN)
            fprintf(out, " and %zu more", end - i - 1 - PARTS_SHOWN);
        if (cli_writer_close(&text))
            cli_show_line(stdout, screen, "code", text.text, CLI_PLAIN);
        free(text.text);
    }
}

static void print_setting(const struct lineage_measured_change *change)
{
    cli_print(stdout, "%.0s %.0s -> %.0s  (%.0s", change->name, change->from ? change->from : "(new)", change->to,
              *change->file ? change->file : "command");
    if (change->line)
        printf(":%u", change->line);
    cli_print(stdout, "%s%.0s)\n", *change->scope ? ", " : "", change->scope);
}

void cli_measured_stat(const struct lineage_measured *measured)
{
    size_t files = 0, added = 0, removed = 0;
    for (size_t i = 0; i < measured->n_changes; i++)
        print_setting(&measured->changes[i]);
    for (size_t i = 0; i < measured->n_lines; i++) {
        const struct lineage_measured_lines *lines = &measured->lines[i];
        if (lines->heading)
            fputs("    ", stdout);
        else {
            files++;
            added += lines->added;
            removed += lines->removed;
        }
        put_lines(stdout, lines->heading ? lines->heading : lines->file, lines);
        putchar('\n');
    }
    printf("%zu setting%s and %zu file%s changed, %zu line%s added, %zu removed", measured->n_changes,
           measured->n_changes == 1 ? "" : "s", files, files == 1 ? "" : "s", added, added == 1 ? "" : "s", removed);
    if (*measured->against)
        cli_print(stdout, ", against %.0s", measured->against);
    printf("%s\n", measured->incomplete ? "; a limit was reached, there may be more" : "");
}
