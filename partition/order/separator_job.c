/* See separator_job.h. */
#include "partition/order/separator_job.h"

int tsi_separator_job_run(const tsi_separator_job *job) {
  idx_t options[METIS_NOPTIONS], n = job->n, separator = 0;
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_NUMBERING] = 0;
  options[METIS_OPTION_SEED] = job->seed;
  if (job->separate)
    return METIS_ComputeVertexSeparator(&n, job->xadj, job->adj, job->weight, options, &separator,
                                        job->result);
  return METIS_NodeND(&n, job->xadj, job->adj, job->weight, options, job->result, job->scratch);
}
