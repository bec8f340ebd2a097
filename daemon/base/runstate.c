/* SPDX-License-Identifier: Apache-2.0 */
#include "base/runstate.h"

#include <stdio.h>
#include <string.h>

#include "base/audit.h"
#include "log.h"
#include "refuse.h"

#define BIT(state) (1u << RUN_##state)

static const char *const state_name[] = {
#define NAME(name) #name,
    RUN_STATES(NAME)
#undef NAME
};
static const char *const command_name[] = {
#define NAME(name, help) #name,
    RUN_COMMANDS(NAME)
#undef NAME
};
static const unsigned from[] = {
    [RUN_DO_configure] = BIT(initial) | BIT(configured),
    [RUN_DO_start] = BIT(configured),
    [RUN_DO_pause] = BIT(running),
    [RUN_DO_resume] = BIT(paused),
    [RUN_DO_stop] = BIT(running) | BIT(paused),
    [RUN_DO_block] = BIT(running) | BIT(paused),
    [RUN_DO_reset] = BIT(configured) | BIT(error),
};

const char *run_state_name(enum run_state s)
{
    return state_name[s];
}

bool run_enter(enum run_state *state, enum run_state to, uint32_t number)
{
    char text[64];

    if (to == *state)
        return false;
    snprintf(text, sizeof text, "%s -> %s", run_state_name(*state), run_state_name(to));
    log_info("run", "state", "from=%s to=%s run=%u", run_state_name(*state), run_state_name(to),
             number);
    audit_write(&(struct audit_line){.by = "run control", .action = text});
    *state = to;
    return true;
}

int run_allows(enum run_state s, enum run_command c, char *why, size_t bytes)
{
    char allowed[128] = "";

    if (from[c] >> s & 1)
        return 0;
    for (unsigned i = 0; i < RUN_N_COMMANDS; i++)
        if (from[i] >> s & 1)
            snprintf(allowed + strlen(allowed), sizeof allowed - strlen(allowed), "%s%s",
                     allowed[0] ? ", " : "", command_name[i]);
    return refuse(why, bytes, "%s is not possible while the state is %s; %s%s", command_name[c],
                  state_name[s], allowed[0] ? "allowed now: " : "wait until it is over", allowed);
}
