#include "plan/planning.h"

#include <math.h>

#include "cli.h"

double night_hours_left(const struct night_hours *hours)
{
    return fmax(0, hours->limit * 3600 - (cli_now() - hours->began));
}
