/* run_events.c: see run_events.h. */
#include "run/run_events.h"

#include "support/clock.h"
#include "support/error.h"

enum trainer_status run_report(struct run *run, struct trainer_event *event, struct trainer_error *err)
{
    const struct run_clock *clock = &run->clock;
    event->train_s = clock->train_s > 0 ? clock->train_s : clock_now() - clock->began;
    event->eval_s = clock->eval_s;
    if (run->options.event && !run->options.event(run->options.context, event))
        return trainer_fail(err, TRAINER_ESTOPPED, "stopped at step %d of %d", event->step, event->steps);
    return TRAINER_OK;
}
