/* tristar_scheduler: the schedulers of the StarPU that the program runs with. StarPU need not be started. */
#include <starpu.h>

#include "tristar.h"

int tristar_scheduler(int i, const char **name, const char **description) {
  struct starpu_sched_policy **policies = starpu_sched_get_predefined_policies();
  int count = 0;
  while (policies[count] != NULL) count++;
  const struct starpu_sched_policy *policy = i >= 0 && i < count ? policies[i] : NULL;
  if (name != NULL) *name = policy != NULL ? policy->policy_name : NULL;
  if (description != NULL) *description = policy != NULL ? policy->policy_description : NULL;
  return policy != NULL;
}
