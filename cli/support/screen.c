/*
 * screen.c: what results are shown on: whether it is a terminal, its size, colour, a pager.
 *
 * A pipe gets the same bytes in every environment, because scripts read them. Only colour can be forced on it (--color
 * always, CLICOLOR_FORCE), which adds escape sequences and changes nothing else.
 */
#include <signal.h>
#include <stdio_ext.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli.h"

/* Below LEAST_WIDTH nothing is readable; above MOST the value of COLUMNS must be a mistake. */
enum { USUAL_WIDTH = 80, USUAL_HEIGHT = 24, LEAST_WIDTH = 20, MOST = 10000 };

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value && *value;
}

/* Returns the variable's value if it is a number from 1 to MOST, else the terminal's size if it is such a number, else
 * the default. */
static size_t extent(const char *name, size_t told, size_t usual)
{
    const char *text = getenv(name);
    char *end = NULL;
    unsigned long n = text && *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
    if (n >= 1 && n <= MOST && !*end)
        return n;
    return told ? told : usual;
}

/* Shells within editors have TERM=dumb or no TERM; a pager or colours would only disturb there. */
static bool is_dumb(void)
{
    const char *term = getenv("TERM");
    return !term || !*term || strcmp(term, "dumb") == 0;
}

/* https://no-color.org and https://bixense.com/clicolors: forbidding colour takes precedence over forcing it. */
static bool wants_color(bool terminal)
{
    const char *force = getenv("CLICOLOR_FORCE"), *color = getenv("CLICOLOR");
    if (is_set("NO_COLOR"))
        return false;
    if (force && *force && strcmp(force, "0") != 0)
        return true;
    return terminal && !is_dumb() && !(color && strcmp(color, "0") == 0);
}

bool cli_screen_open(struct cli_screen *screen)
{
    const char *text = screen->color_text ? screen->color_text : "auto";
    struct winsize size = {0};
    screen->terminal = isatty(STDOUT_FILENO);
    if (strcmp(text, "auto") == 0)
        screen->color = wants_color(screen->terminal);
    else if (strcmp(text, "always") == 0 || strcmp(text, "never") == 0)
        screen->color = text[0] == 'a';
    else
        return cli_refuse("--color '%s': use auto, always or never", text);
    if (screen->terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
        size = (struct winsize){0};
    screen->width = extent("COLUMNS", size.ws_col, USUAL_WIDTH);
    screen->height = extent("LINES", size.ws_row, USUAL_HEIGHT);
    if (screen->width < LEAST_WIDTH)
        screen->width = LEAST_WIDTH;
    return true;
}

/* Returns the shell script that runs the pager, or NULL for none. If the pager cannot be run (exit status 126 or 127 of
 * the shell), it has read nothing, so cat still gets everything. If no pager is configured and `less` is not installed,
 * no message is printed. */
static const char *pager_script(char *out, size_t size, bool wide)
{
    const char *chosen = getenv("LINEAGE_PAGER") ? getenv("LINEAGE_PAGER") : getenv("PAGER");
    if (chosen && (!*chosen || strcmp(chosen, "cat") == 0))
        return NULL;
    int n = chosen ? snprintf(out, size, "%s\ncase $? in 126 | 127) exec cat ;; esac", chosen)
                   : snprintf(out, size, "command -v less >/dev/null || exec cat\nexec less -FRX%s", wide ? "S" : "");
    return n > 0 && (size_t)n < size ? out : NULL;
}

/* The pager owns the keyboard, so this process ignores ^C. It also ignores SIGPIPE, which a pager that exits early
 * would cause. The pager itself gets the default signals. LESS makes a plain `less` show colours and exit if the text
 * fits on the screen. */
static void start_pager(struct cli_screen *screen, const char *script)
{
    fflush(stdout);
    setenv("LESS", screen->wide ? "FRXS" : "FRX", 0);
    screen->terminal_fd = dup(STDOUT_FILENO);
    screen->pager = screen->terminal_fd < 0 ? NULL : popen(script, "w");
    if (!screen->pager) {
        close(screen->terminal_fd);
        return;
    }
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    dup2(fileno(screen->pager), STDOUT_FILENO);
}

void cli_screen_expect(struct cli_screen *screen, size_t lines)
{
    char script[4096];
    if (screen->terminal)
        setvbuf(stdout, NULL, _IOFBF, 1 << 16); /* one write per line would take longer than everything else */
    if (!screen->terminal || screen->no_pager || screen->pager || lines < screen->height || is_dumb())
        return;
    if (pager_script(script, sizeof script, screen->wide))
        start_pager(screen, script);
}

/* If the user left the pager, the unread rest is dropped; it is neither printed after the pager nor reported as an
 * error. */
void cli_screen_close(struct cli_screen *screen)
{
    if (!screen->pager)
        return;
    fflush(stdout);
    __fpurge(stdout);
    dup2(screen->terminal_fd, STDOUT_FILENO);
    close(screen->terminal_fd);
    pclose(screen->pager);
    clearerr(stdout);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    signal(SIGQUIT, SIG_DFL);
    screen->pager = NULL;
}

/* Limits and crashes have different styles: a trial that exceeded its budget may be worth repeating, and a crash needs
 * a look. */
enum cli_style cli_label_style(enum lineage_label label)
{
    switch (label) {
    case LINEAGE_BASELINE: return CLI_STRONG;
    case LINEAGE_KEEP: return CLI_KEPT;
    case LINEAGE_DISCARD:
    case LINEAGE_HARNESS_ABORT: return CLI_QUIET;
    case LINEAGE_EVAL_BUDGET_OVERRUN:
    case LINEAGE_TRAIN_BUDGET_OVERRUN:
    case LINEAGE_SIZE_BLOCKED: return CLI_LIMIT;
    default: return CLI_FAILED;
    }
}

/* The terminal's own sixteen colours, which its owner has chosen to be readable on its background. */
const char *cli_style_on(const struct cli_screen *screen, enum cli_style style)
{
    static const char *const sequences[] = {"", "\033[1m", "\033[2m", "\033[36m", "\033[1;36m", "\033[33m", "\033[31m"};
    return screen && screen->color ? sequences[style] : "";
}

const char *cli_style_off(const struct cli_screen *screen, enum cli_style style)
{
    return screen && screen->color && style != CLI_PLAIN ? "\033[0m" : "";
}
