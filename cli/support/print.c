/* print.c: prints with a format whose texts are escaped on the way; see cli.h. */

#include <assert.h>

#include "cli.h"

/* The compiler checks the arguments of a format; the assertions refuse what printf knows and this function does not. */
void cli_print_with(FILE *out, cli_put_fn *put, const char *format, va_list args)
{
    for (const char *at = format, *end; *at; at = end) {
        end = at + strcspn(at, "%");
        fwrite(at, 1, (size_t)(end - at), out);
        if (!*end)
            return;
        const char *point = end + 1 + (end[1] == '.'); /* behind it the precision */
        const int given = point[-1] != '.' ? -1 : *point == '*' ? va_arg(args, int) : atoi(point);
        const char *kind = point + strspn(point, "*0123456789");
        assert(kind == point || point[-1] == '.'); /* no width */
        end = kind + strspn(kind, "lz") + 1;
        assert(end == kind + 1 || end[-1] == 'u');
        switch (*kind) {
        case 's': put(out, va_arg(args, const char *), given); break;
        case 'c': putc(va_arg(args, int), out); break;
        case 'd': fprintf(out, "%d", va_arg(args, int)); break;
        case 'u': fprintf(out, "%u", va_arg(args, unsigned)); break;
        case 'z': fprintf(out, "%zu", va_arg(args, size_t)); break;
        case 'l': /* PRIu64 is one of these */
            if (kind[1] == 'l')
                fprintf(out, "%llu", va_arg(args, unsigned long long));
            else
                fprintf(out, "%lu", va_arg(args, unsigned long));
            break;
        case 'f': fprintf(out, "%.*f", given, va_arg(args, double)); break;
        case 'g': fprintf(out, "%.*g", given, va_arg(args, double)); break;
        default: assert(*kind == '%'); putc(*kind, out);
        }
    }
}
