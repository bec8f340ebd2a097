/* SPDX-License-Identifier: Apache-2.0 */
#include "answer.h"

#include "trigd.pb-c.h"

bool answer_make(uint64_t token, uint32_t run, uint32_t l1id, zmq_msg_t *ret_body)
{
    Trigd__V1__FromDaemon from = TRIGD__V1__FROM_DAEMON__INIT;
    Trigd__V1__DecisionBatch batch = TRIGD__V1__DECISION_BATCH__INIT;
    Trigd__V1__Decision decision = TRIGD__V1__DECISION__INIT, *list[1] = {&decision};

    decision.token = token;
    decision.run = run;
    decision.l1id = l1id;
    decision.accept = 1;
    batch.n_decisions = 1;
    batch.decisions = list;
    from.body_case = TRIGD__V1__FROM_DAEMON__BODY_DECISIONS;
    from.decisions = &batch;
    if (zmq_msg_init_size(ret_body, trigd__v1__from_daemon__get_packed_size(&from)) < 0)
        return false;
    trigd__v1__from_daemon__pack(&from, zmq_msg_data(ret_body));
    return true;
}
