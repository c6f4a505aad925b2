/*
 * html_page.c: prints a report as one HTML file; see html_page.h. The page follows the order of a morning: what
 * happened, where the store is now, what to try next, then every trial. The pictures do not depend on the HTML around
 * them.
 */
#include "report/html_page.h"

#include <fcntl.h>
#include <stdio_ext.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/picture.h"
#include "report_assets.h"

/* ---- head and foot ---- */

/*
 * The policy allows style and script by digests that are computed when the assets are embedded, so that even a cell
 * which got through the escaping could not run. form-action and base-uri are named because default-src does not cover
 * them.
 */
static void print_head(FILE *out, const struct model *models, size_t n, const struct page_options *options)
{
    fprintf(out,
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-%s' 'sha256-%s'; "
            "script-src 'sha256-%s'%s%s%s; img-src data:; base-uri 'none'; form-action 'none'\">\n"
            "<meta name=\"generator\" content=\"lineage report\">\n"
            "<meta name=\"referrer\" content=\"no-referrer\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<link rel=\"icon\" href=\"data:,\">\n<title>",
            report_page_css_hash, report_picture_css_hash, report_page_js_hash, options->live ? " 'sha256-" : "",
            options->live ? report_live_js_hash : "", options->live ? "'; connect-src 'self'" : "");
    for (size_t i = 0; i < n; i++)
        html_print(out, i ? ", %.60s" : "%.60s", models[i].name);
    fprintf(out, " · lineage report</title>\n<style>%s</style>\n<style>%s</style></head>\n<body>\n", report_page_css,
            report_picture_css);
}

/* Scripts come last, when all elements that they use exist. Without scripts the page has the same content. */
static void print_foot(FILE *out, bool live)
{
    fprintf(out,
            "<footer><p>Made by <code>lineage report</code>. Scores and texts are those of results.tsv.</p></footer>\n"
            "<div id=\"tip\" role=\"status\" hidden></div><div id=\"panel\" role=\"dialog\" aria-label=\"Trial\" hidden></div>\n"
            "<script>%s</script>\n"
            "%s%s%s</body></html>\n",
            report_page_js, live ? "<script>" : "", live ? report_live_js : "", live ? "</script>\n" : "");
}

/* ---- one store ---- */

static void __attribute__((format(printf, 3, 4))) tile(FILE *out, const char *name, const char *format, ...)
{
    va_list args;
    fprintf(out, "<div><dt>%s</dt><dd>", name);
    va_start(args, format);
    vfprintf(out, format, args);
    va_end(args);
    fputs("</dd></div>", out);
}

static uint64_t count_failed(const struct lineage_report *sum)
{
    uint64_t n = 0;
    for (int label = 0; label < LINEAGE_N_LABELS; label++)
        n += strcmp(outcome_class((enum lineage_label)label), "fail") == 0 ? sum->labels[label] : 0;
    return n;
}

static void print_tiles(const struct picture *p)
{
    const struct model *model = p->model;
    const struct lineage_report *sum = model->summary;
    char text[PICTURE_NUMBER];
    fputs("<dl class=\"tiles\">", p->out);
    tile(p->out, "trials", "%" PRIu64, sum->trials);
    tile(p->out, "kept", "%" PRIu64, sum->labels[LINEAGE_KEEP]);
    tile(p->out, "discarded", "%" PRIu64, sum->labels[LINEAGE_DISCARD]);
    tile(p->out, "failed", "%" PRIu64, count_failed(sum));
    if (sum->voids)
        tile(p->out, "void", "%" PRIu64, sum->voids);
    if (model->best != MODEL_NONE)
        tile(p->out, "best", "%s", score_text(text, &model->trials[model->best]));
    if (model->needed > 0)
        tile(p->out, "improvement needed", "%s",
             signed_text(text, model->direction == LINEAGE_HIGHER ? model->needed : -model->needed, 3));
    if (sum->noise.std > 0) {
        char noise[LINEAGE_NOISE_TEXT_MAX];
        tile(p->out, "noise floor", "%s", lineage_noise_text(noise, &sum->noise));
    }
    if (sum->findings)
        tile(p->out, "rows not fully readable", "%" PRIu64, sum->findings);
    fputs("</dl>\n", p->out);
}

/* A store with one score has no front, and its page does not say so. */
static bool is_shown(const struct model *model, const struct picture_kind *kind)
{
    return kind->print != picture_front || *model->summary->second;
}

/* If all trials are of one night, its chart would be the one of the whole store. */
static bool has_chart(const struct model *model, const struct picture_kind *kind)
{
    return kind->print != picture_morning || model->night > 0 || !model->n;
}

static const char *heading_of(const struct model *model, const struct picture_kind *kind)
{
    return kind->print == picture_morning && model->since ? "Since you last looked" : kind->heading;
}

static void print_nav(const struct picture *p)
{
    html_print(p->out, "<nav aria-label=\"Parts of %.60s\">", p->model->name);
    for (const struct picture_kind *kind = picture_kinds; kind->name; kind++)
        if (is_shown(p->model, kind))
            fprintf(p->out, "<a href=\"#s%zu-%s\">%s</a>", p->store, kind->name, heading_of(p->model, kind));
    fprintf(p->out, "<a href=\"#s%zu-hypotheses\">Hypotheses</a><a href=\"#s%zu-trials\">Trials</a></nav>\n", p->store, p->store);
}

static void print_picture(const struct picture *p, const struct picture_kind *kind)
{
    fprintf(p->out, "<section><h2 id=\"s%zu-%s\">%s</h2>\n", p->store, kind->name, heading_of(p->model, kind));
    if (kind->print == picture_morning)
        morning_sentences(p);
    if (!has_chart(p->model, kind)) {
        fputs("</section>\n", p->out);
        return;
    }
    fprintf(p->out, "<p class=\"how\">%s</p>\n", kind->reading);
    /* The coverage picture has a scroller for each pair. */
    bool scrolls = kind->print != picture_coverage;
    struct picture narrow = *p;
    narrow.narrow = true;
    if (scrolls)
        fprintf(p->out, "<div class=\"scroll%s\"" HTML_SCROLL_ROLE ">", kind->reflows ? " in-wide" : "");
    kind->print(p);
    fputs(scrolls ? "</div>" : "", p->out);
    if (kind->reflows) {
        fputs("<div class=\"in-narrow\">", p->out);
        kind->print(&narrow);
        fputs("</div>", p->out);
    }
    if (kind->print == picture_knobs)
        knobs_table(p);
    fputs("</section>\n", p->out);
}

/* Prints a score with half of its 95 % interval. */
static void print_score(FILE *out, const struct model_trial *trial)
{
    char text[PICTURE_NUMBER];
    fputs(trial->score.present ? score_text(text, trial) : trial->odd, out);
    if (trial->margin.present)
        fprintf(out, " <span class=\"pm\">± %s</span>", number_text(text, trial->margin.value, 2));
}

static void print_row(const struct picture *p, size_t i)
{
    const struct model_trial *trial = &p->model->trials[i];
    char gain[PICTURE_NUMBER] = "";
    FILE *out = p->out;
    if (trial->score.present && trial->before.present)
        signed_text(gain, trial->score.value - trial->before.value, 3);
    fputs("<tr><td>", out);
    picture_trial_link(p, i);
    html_print(out, "</td><td>%.40s</td><td><span class=\"tag %s\">%s</span></td><td class=\"n\">", trial->specialist,
               outcome_class(trial->label), label_words(trial->label));
    print_score(out, trial);
    html_print(out, "</td><td class=\"n\">%s</td><td class=\"h\">%.400s</td></tr>\n", gain, trial->hypothesis);
}

/* Without a script, the table lists the trials that the page has in full, and each id leads to its trial. The script
 * replaces it by one of all trials. */
static void print_table(const struct picture *p, size_t n)
{
    fprintf(p->out, "<section class=\"wide\"><h2 id=\"s%zu-trials\">Trials</h2>\n<p class=\"how noscript\">Newest first.",
            p->store);
    if (n < p->model->n)
        fprintf(p->out, " %zu of %zu: the chain to the best one, the leaders and the newest; lineage query lists all.", n,
                p->model->n);
    html_print(p->out,
               "</p><div class=\"filters\"></div>" HTML_SCROLL "<table class=\"trials\"><thead><tr><th scope=\"col\">trial</th>"
               "<th scope=\"col\">specialist</th><th scope=\"col\">outcome</th><th scope=\"col\" class=\"n\">%.40s</th><th "
               "scope=\"col\" class=\"n\">change</th><th scope=\"col\">hypothesis</th></tr></thead><tbody>\n",
               p->model->metric);
    for (size_t i = p->model->n; i-- > 0;)
        if (p->cards[i])
            print_row(p, i);
    fputs("</tbody></table></div></section>\n", p->out);
}

/* The style hides the cards until one is the target of a link, so that each trial is listed once. */
static void print_cards(const struct picture *p, bool diffs)
{
    fputs("<section class=\"cards wide\" aria-label=\"The trial of a link\">\n", p->out);
    for (size_t i = p->model->n; i-- > 0;)
        if (p->cards[i])
            trial_card(p, i, diffs);
    fputs("</section>\n", p->out);
}

static void print_store(FILE *out, const struct model *model, size_t which, bool several, const struct page_options *options)
{
    bool *cards = calloc(model->n + 1, sizeof *cards);
    struct picture p = {.out = out, .model = model, .store = which, .cards = cards};
    size_t n_cards = 0;
    if (cards)
        cards_choose(model, cards, &n_cards);
    fprintf(out, "<%s class=\"store\" data-s=\"%zu\"", several ? "section" : "div", which);
    if (several)
        fprintf(out, " aria-labelledby=\"s%zu\"", which);
    html_print(out, "><header><h1 id=\"s%zu\">%.120s</h1><p class=\"sub\">%.300s · %.60s, %s is better</p>\n", which, model->name,
               model->dir, model->metric, model->direction == LINEAGE_HIGHER ? "higher" : "lower");
    print_tiles(&p);
    print_nav(&p);
    fprintf(out, "</header>\n<%s>\n", several ? "div class=\"main\"" : "main");
    for (const struct picture_kind *kind = picture_kinds; kind->name; kind++)
        if (is_shown(model, kind))
            print_picture(&p, kind);
    if (options->held_out)
        held_out_section(&p);
    fprintf(out, "<section class=\"wide\"><h2 id=\"s%zu-hypotheses\">Hypotheses</h2>\n", which);
    hypotheses_print(&p);
    fputs("</section>\n", out);
    if (cards) {
        print_table(&p, n_cards);
        print_cards(&p, !options->no_diffs);
    }
    free(cards);
    /* HTML allows one main element per page; with several stores it is around all of them. */
    fprintf(out, "</%s>\n", several ? "div" : "main");
    page_data_print(&p);
    fputs(several ? "</section>\n" : "</div>\n", out);
}

static void print_overview(FILE *out, const struct model *models, size_t n)
{
    char text[PICTURE_NUMBER];
    fputs("<main class=\"all\"><header><h1>Stores side by side</h1></header><div class=\"main\">" HTML_SCROLL, out);
    picture_stores(out, models, n);
    fputs("</div>" HTML_SCROLL "<table><thead><tr><th>store</th><th>score</th><th class=\"n\">trials</th><th "
          "class=\"n\">kept</th>"
          "<th class=\"n\">failed</th><th class=\"n\">best</th><th>best trial</th><th>newest</th></tr></thead><tbody>\n",
          out);
    for (size_t i = 0; i < n; i++) {
        const struct model *m = &models[i];
        const struct model_trial *best = m->best != MODEL_NONE ? &m->trials[m->best] : NULL;
        html_print(out,
                   "<tr><td><a href=\"#s%zu\">%.60s</a></td><td>%.40s, %s</td><td class=\"n\">%" PRIu64
                   "</td><td class=\"n\">%" PRIu64 "</td><td class=\"n\">%" PRIu64
                   "</td><td class=\"n\">%s</td><td>%.40s %.40s</td><td>%.20s</td></tr>\n",
                   i, m->name, m->metric, m->direction == LINEAGE_HIGHER ? "higher" : "lower", m->summary->trials,
                   m->summary->labels[LINEAGE_KEEP], count_failed(m->summary), best ? score_text(text, best) : "–",
                   best ? best->id : "", best ? best->specialist : "", m->n ? m->trials[m->n - 1].timestamp : "");
    }
    fputs("</tbody></table></div></div>\n", out);
}

void page_print(FILE *out, const struct model *models, size_t n, const struct page_options *options)
{
    __fsetlocking(out, FSETLOCKING_BYCALLER); /* no other thread writes to it, and a page has a million short writes */
    print_head(out, models, n, options);
    if (options->live)
        fputs("<section class=\"header\" aria-label=\"Now\"><p id=\"live\">live</p><div id=\"running\"></div></section>\n", out);
    if (n > 1)
        print_overview(out, models, n);
    for (size_t i = 0; i < n; i++)
        print_store(out, &models[i], i, n > 1, options);
    fputs(n > 1 ? "</main>\n" : "", out);
    print_foot(out, options->live);
}

void page_card(FILE *out, const struct model *model, size_t i)
{
    trial_card(&(struct picture){.out = out, .model = model}, i, true);
}

bool page_picture(FILE *out, const struct model *model, const char *name)
{
    for (const struct picture_kind *kind = picture_kinds; kind->name; kind++)
        if (strcmp(kind->name, name) == 0) {
            if (out)
                kind->print(&(struct picture){.out = out, .model = model, .alone = true});
            return true;
        }
    return false;
}

/* Taken from the table of pictures, so that --help and the error of --svg list all of them. */
const char *page_picture_names(char *out, size_t size)
{
    size_t at = 0;
    out[0] = '\0';
    for (const struct picture_kind *kind = picture_kinds; kind->name && at < size; kind++)
        at += (size_t)snprintf(out + at, size - at, "%s%s", at ? ", " : "", kind->name);
    return out;
}

/* ---- a page as a file, which is written as a whole or not at all ---- */

/* Whether the file is a report: every page identifies itself within its first bytes. */
static bool is_report(const char *path)
{
    char head[1024];
    FILE *file = fopen(path, "rbe");
    if (!file)
        return false;
    size_t n = fread(head, 1, sizeof head - 1, file);
    head[n] = '\0';
    fclose(file);
    return n == 0 || strstr(head, "<meta name=\"generator\" content=\"lineage report\">");
}

static int failed(const char *path, const char *doing, int error)
{
    return cli_error(CLI_SYSTEM, "report: cannot %s %s: %s", doing, path, strerror(error));
}

/* mkstemp makes files that only their owner can read. A report is as readable as the file that it replaces, or as any
 * new file. */
static mode_t wanted_mode(const struct stat *old)
{
    mode_t mask = umask(0);
    umask(mask);
    return old ? old->st_mode & 0777 : 0666 & ~mask;
}

/* If regular is set, the bytes are on disk on return. errno is read before fclose, which may change it. */
static int write_to(int fd, const char *path, page_printer *print, const void *context, bool regular)
{
    FILE *out = fdopen(fd, "w");
    if (!out) {
        close(fd);
        return failed(path, "write", errno);
    }
    print(out, context);
    /* fsync precedes the rename; otherwise a crash could leave the new name with an empty file. */
    bool bad = fflush(out) != 0 || ferror(out) || (regular && fsync(fd) != 0);
    int error = errno;
    if (fclose(out) != 0 && !bad) {
        bad = true;
        error = errno;
    }
    return bad ? failed(path, "write", error) : CLI_GO_ON;
}

static int replace(const char *path, const struct stat *old, page_printer *print, const void *context)
{
    char temporary[PATH_MAX];
    if (snprintf(temporary, sizeof temporary, "%s.XXXXXX", path) >= PATH_MAX)
        return cli_error(CLI_USAGE, "report: the path %.60s... is too long", path);
    /* The temporary file is in the target's directory, because rename does not cross file systems. Its name is random,
     * because two nights may write a report at once. */
    int fd = mkstemp(temporary);
    if (fd < 0)
        return failed(path, "write", errno);
    fchmod(fd, wanted_mode(old));
    int status = write_to(fd, path, print, context, true);
    if (status == CLI_GO_ON && rename(temporary, path) != 0)
        status = failed(path, "write", errno);
    if (status != CLI_GO_ON)
        unlink(temporary);
    return status;
}

int page_file_write(const char *path, page_printer *print, const void *context, bool own_only)
{
    struct stat old;
    bool there = stat(path, &old) == 0, regular = there && S_ISREG(old.st_mode);
    if (own_only && there && !(regular && is_report(path)))
        return cli_error(CLI_USAGE, "report: %s exists and is not a report; name another file with --output", path);
    /* A device or a pipe is written to directly: a rename would replace /dev/null by a file. */
    if (there && !regular) {
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        return fd < 0 ? failed(path, "write", errno) : write_to(fd, path, print, context, false);
    }
    /* A link is kept; the file that it leads to is replaced. */
    char *target = there ? realpath(path, NULL) : NULL;
    if (there && !target)
        return failed(path, "find", errno);
    int status = replace(target ? target : path, there ? &old : NULL, print, context);
    free(target);
    return status;
}

static void print_model(FILE *out, const void *context)
{
    page_print(out, context, 1, &(struct page_options){0});
}

/* Uses own_only, because the user did not name this path: an existing file that is not a report is kept. */
int page_file_beside(struct lineage_store *store)
{
    struct model model;
    struct lineage_error err;
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/report.html", lineage_store_dir(store)) >= PATH_MAX)
        return cli_error(CLI_USAGE, "report: the path of the store is too long");
    int status =
        model_load(&model, store, &err) == LINEAGE_OK ? page_file_write(path, print_model, &model, true) : cli_fail(&err);
    model_release(&model);
    return status;
}
