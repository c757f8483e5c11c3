/* Verifies the invariants of tsi_program that program.h states. */
#include "dag/program.h"

/* Verifies the messages of one direction: their rows follow each other, their steps ascend. */
static tristar_status check_messages(tsi_env *env, const tsi_program *program, const tsi_message *message,
                                     tsi_index count, bool sent) {
  tsi_count row = 0;
  for (tsi_index m = 0; m < count; m++) {
    tsi_count rows = 0;
    const tsi_message *this = &message[m];
    if (this->step < 0 || this->step >= program->steps->count || this->parts < 1 || this->part < 0 ||
        this->part + this->parts > program->parts)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "message %d of kind %d: step %d, %lld parts", m, (int)this->kind,
               this->step, (long long)this->parts);
    rows = this->rows;
    if (this->row != row || rows < 1)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "message %d has %lld rows from %lld, not from %lld", m,
               (long long)rows, (long long)this->row, (long long)row);
    const bool matches = sent ? program->send_ptr[this->step] <= m && m < program->send_ptr[this->step + 1]
                              : program->steps->step[this->step].kind == TSI_STEP_ARRIVAL &&
                                    program->steps->step[this->step].argument == m;
    if (!matches || !program->steps->step[this->step].alone)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "message %d does not belong to step %d", m, this->step);
    row += rows;
  }
  if (row != (sent ? program->outbox_rows : program->inbox_rows))
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "messages have %lld rows", (long long)row);
  return TRISTAR_OK;
}

tristar_status tsi_program_check(tsi_env *env, const tsi_program *program, const tsi_program_source *source) {
  const tsi_steps *steps = program->steps;
  TSI_OWNED tsi_access_list *accesses = NULL;
  TSI_SCRATCH_ZERO(env, bool, waited, steps->count);
  for (tsi_count e = 0; e < steps->edges; e++) {
    if (steps->edge[e].before < 0 || steps->edge[e].before >= steps->edge[e].item ||
        steps->edge[e].item >= steps->count)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "step %d waits for step %d of %d", steps->edge[e].item,
               steps->edge[e].before, steps->count);
    waited[steps->edge[e].before] = true;
  }
  TSI_TRY(check_messages(env, program, program->send, program->sends, true));
  TSI_TRY(check_messages(env, program, program->receive, program->receives, false));
  for (tsi_index m = 0; m < program->receives; m++)
    if (!waited[program->receive[m].step])
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "no step waits for received message %d", m);
  TSI_TRY(tsi_program_list_accesses(env, program, source, &accesses));
  return tsi_access_check(env, accesses, steps->edges, steps->edge);
}
