/* append_batch.c: placeholder until the core lands */
#include "append.h"
bool append_take_batch(struct append_request *request, const char *path)
{
    (void)request;
    cli_error(CLI_USAGE, "append: --batch %s: not built", path);
    return false;
}
