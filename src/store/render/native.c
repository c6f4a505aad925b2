/*
 * native.c: the session-start block by this project's own rules. Sections are rendered apart, so that a
 * context budget can drop the least useful ones whole.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <lineage/text.h>

#include "native.h"

/* In printing order. worth: what is dropped first when the block must fit a budget is worth least. */
static const struct section {
    const char *name;
    int worth;
    section_fn *add;
} sections[] = {
    {"best", 100, section_best},
    {"leaderboard", 70, section_leaderboard},
    {"knowledge", 90, section_knowledge},
    {"recent", 60, section_recent},
    {"full", 40, section_full},
    {"sweep", 50, section_sweep},
    {"failures", 30, section_failures},
    {"calibration", 10, section_calibration},
    {"info_gain", 20, section_info_gain},
    {"insights", 80, section_insights},
};
#define N_SECTIONS (sizeof sections / sizeof *sections)
#define WORTH_SHORTENING 60 /* from here on lists are made shorter before a section goes */

const char *const *lineage_render_sections(void)
{
    static const char *const names[N_SECTIONS + 1] = {"best",  "leaderboard", "knowledge",   "recent",    "full",
                                                      "sweep", "failures",    "calibration", "info_gain", "insights"};
    return names;
}

static enum lineage_status unknown_section(const char *name, size_t length, struct lineage_error *err)
{
    return store_fail(err, LINEAGE_EINVAL,
                      "no section '%.*s'; known are best, leaderboard, knowledge, recent, full, sweep, failures, "
                      "calibration, info_gain, insights",
                      (int)(length < 60 ? length : 60), name);
}

/* Bit set of the sections asked for. */
static enum lineage_status choose_sections(unsigned *chosen, const char *names, struct lineage_error *err)
{
    *chosen = (1u << N_SECTIONS) - 1;
    if (!names)
        return LINEAGE_OK;
    *chosen = 0;
    for (const char *name = names; *name;) {
        size_t length = strcspn(name, ","), i = 0;
        while (i < N_SECTIONS && (strlen(sections[i].name) != length || strncmp(sections[i].name, name, length) != 0))
            i++;
        if (i == N_SECTIONS)
            return unknown_section(name, length, err);
        *chosen |= 1u << i;
        name += length + (name[length] == ',');
    }
    return LINEAGE_OK;
}

static void add_title(struct buf *out, const struct native *n)
{
    char number[NUMBER_TEXT_MAX];
    buf_puts(out, "# Session start — ");
    add_safe(out, n->options->timestamp && *n->options->timestamp ? n->options->timestamp : "—", 60);
    buf_puts(out, "\n");
    if (n->options->specialist && *n->options->specialist) {
        buf_puts(out, "You are specialist **");
        add_safe(out, n->options->specialist, 60);
        buf_puts(out, "**. ");
    }
    if (n->best.seq) {
        buf_puts(out, "Current best: **");
        add_id(out, n->best.exp_id);
        buf_printf(out, "** (%s=%s, %s is better).", n->metric, metric_text(number, n->best.score),
                   n->store->config.direction == LINEAGE_HIGHER ? "higher" : "lower");
    } else {
        buf_puts(out, "No trial ranks yet.");
    }
    buf_printf(out, " %llu trials.\n", (unsigned long long)n->rows);
    if (n->findings)
        buf_printf(out, "%llu records of results.tsv could not be read in full: see `lineage verify`.\n",
                   (unsigned long long)n->findings);
}

static size_t total(const struct buf *title, const struct buf *parts, unsigned chosen)
{
    size_t length = title->length;
    for (size_t i = 0; i < N_SECTIONS; i++)
        if (chosen & (1u << i))
            length += parts[i].length;
    return length;
}

static void add_dropped(struct buf *out, unsigned dropped, size_t max)
{
    const char *comma = "";
    buf_printf(out, "\n*Left out to fit %zu bytes: ", max);
    for (size_t i = 0; i < N_SECTIONS; i++)
        if (dropped & (1u << i)) {
            buf_printf(out, "%s%s", comma, sections[i].name);
            comma = ", ";
        }
    buf_puts(out, ".*\n");
}

static size_t least_worth(const struct buf *parts, unsigned chosen)
{
    size_t least = N_SECTIONS;
    for (size_t i = 0; i < N_SECTIONS; i++)
        if ((chosen & (1u << i)) && parts[i].length && (least == N_SECTIONS || sections[i].worth < sections[least].worth))
            least = i;
    return least;
}

/* A budget below the title itself: cut it, between code points. */
static void cut_to(struct buf *out, size_t max)
{
    size_t end = max < out->length ? max : out->length;
    while (end && ((unsigned char)out->data[end] & 0xC0) == 0x80)
        end--;
    buf_truncate(out, end);
}

/* What fit leaves of the sections: those below `worth` may go, until the block and its note fit. */
static unsigned drop_until(const struct buf *title, const struct buf *parts, unsigned chosen, int worth, size_t max,
                           struct buf *note)
{
    unsigned dropped = 0;
    note->length = 0;
    while (max && total(title, parts, chosen) + note->length > max) {
        size_t least = least_worth(parts, chosen);
        if (least == N_SECTIONS || sections[least].worth >= worth)
            break;
        chosen &= ~(1u << least);
        dropped |= 1u << least;
        note->length = 0;
        add_dropped(note, dropped, max);
    }
    return chosen;
}

static void join(struct buf *out, const struct buf *title, const struct buf *parts, unsigned chosen,
                 const struct buf *note, size_t max)
{
    buf_add(out, title->data, title->length);
    for (size_t i = 0; i < N_SECTIONS; i++)
        if (chosen & (1u << i))
            buf_add(out, parts[i].data ? parts[i].data : "", parts[i].length);
    if (note->length && (!max || out->length + note->length <= max))
        buf_add(out, note->data, note->length);
    if (max)
        cut_to(out, max);
}

static enum lineage_status load(struct native *n, struct lineage_error *err)
{
    int64_t seq = 0, findings = 0;
    double score;
    enum lineage_status status = mirror_best(n->store->mirror, &seq, &score, err);
    if (status == LINEAGE_OK)
        status = mirror_load(n->store->mirror, seq, &n->best, err);
    if (status == LINEAGE_OK)
        status = mirror_chain(n->store->mirror, seq, CHAIN_KEPT, &n->chain, err);
    if (status == LINEAGE_ENOTFOUND)
        status = LINEAGE_OK;
    if (status == LINEAGE_OK)
        status = native_count(n, "SELECT count(*) FROM findings", &findings, err);
    n->findings = (uint64_t)findings;
    n->rows = mirror_position(n->store->mirror)->rows;
    n->metric = lineage_store_metric(n->store);
    return status;
}

static bool is_empty(struct native *n)
{
    return n->rows == 0 && !n->best.seq && !n->findings;
}

static enum lineage_status add_sections(struct buf *parts, struct native *n, unsigned chosen, bool *failed,
                                        struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    for (size_t i = 0; status == LINEAGE_OK && i < N_SECTIONS; i++)
        if (chosen & (1u << i)) {
            buf_truncate(&parts[i], 0);
            status = sections[i].add(&parts[i], n, err);
            *failed = *failed || parts[i].failed;
        }
    return status;
}

/* Lists half as long, but not empty. */
static bool shorten(struct lineage_render_options *options)
{
    size_t *const lists[] = {&options->top_k, &options->recent, &options->full};
    bool shorter = false;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (*lists[i] > 1) {
            *lists[i] /= 2;
            shorter = true;
        }
    return shorter;
}

/*
 * Into a budget: first the sections of little worth go, then the lists are halved until what an agent needs most
 * fits, and only then do those sections go as well.
 */
static enum lineage_status render_sections(struct buf *out, struct native *n, unsigned asked, const struct buf *title,
                                           struct lineage_error *err)
{
    struct lineage_render_options options = *n->options;
    struct buf parts[N_SECTIONS] = {{0}}, note = {0};
    bool failed = false;
    unsigned chosen = asked;
    enum lineage_status status;
    n->options = &options;
    while ((status = add_sections(parts, n, asked, &failed, err)) == LINEAGE_OK) {
        chosen = drop_until(title, parts, asked, WORTH_SHORTENING, options.max_bytes, &note);
        if (!options.max_bytes || total(title, parts, chosen) + note.length <= options.max_bytes || !shorten(&options))
            break;
    }
    if (status == LINEAGE_OK) {
        chosen = drop_until(title, parts, asked, INT_MAX, options.max_bytes, &note);
        join(out, title, parts, chosen, &note, options.max_bytes);
    }
    out->failed = out->failed || failed || note.failed;
    for (size_t i = 0; i < N_SECTIONS; i++)
        buf_release(&parts[i]);
    buf_release(&note);
    return status;
}

enum lineage_status render_native(struct buf *out, struct lineage_store *store,
                                  const struct lineage_render_options *options, struct lineage_error *err)
{
    struct native n = {.store = store, .options = options};
    struct buf title = {0};
    unsigned chosen;
    enum lineage_status status = choose_sections(&chosen, options->sections, err);
    if (status == LINEAGE_OK)
        status = load(&n, err);
    if (status == LINEAGE_OK && is_empty(&n)) {
        buf_puts(&title, "# Session start — empty lineage\n");
        chosen &= 1u << (N_SECTIONS - 1);
    } else if (status == LINEAGE_OK) {
        add_title(&title, &n);
    }
    if (status == LINEAGE_OK)
        status = render_sections(out, &n, chosen, &title, err);
    out->failed = out->failed || title.failed;
    buf_release(&title);
    lineage_trial_release(&n.best);
    lineage_chain_release(&n.chain);
    return status;
}
