/* Counts unfinished solves and keeps retired objects: see solves.h. */
#include "runtime/context/solves.h"

#include "runtime/base/threads.h"
#include "runtime/exec/starpu/tasks.h"

tristar_status tsi_solves_init(const tsi_env *env, tsi_solves *solves) {
  tristar_status status = tsi_monitor_init(env, &solves->lock, &solves->changed);
  if (status != TRISTAR_OK) return status;
  status = tsi_mutex_init(env, &solves->order);
  if (status == TRISTAR_OK) return status;
  pthread_cond_destroy(&solves->changed);
  pthread_mutex_destroy(&solves->lock);
  return status;
}

void tsi_solves_wait(tsi_solves *solves) {
  pthread_mutex_lock(&solves->lock);
  while (solves->unfinished > 0) pthread_cond_wait(&solves->changed, &solves->lock);
  pthread_mutex_unlock(&solves->lock);
}

void tsi_solves_finish(tsi_solves *solves) {
  pthread_cond_destroy(&solves->changed);
  pthread_mutex_destroy(&solves->order);
  pthread_mutex_destroy(&solves->lock);
}

void tsi_solves_reclaim(tsi_solves *solves) {
  if (!tsi_tasks_may_wait()) return;
  pthread_mutex_lock(&solves->lock);
  tsi_retired *retired = solves->retired;
  solves->retired = NULL;
  pthread_mutex_unlock(&solves->lock);
  while (retired != NULL) {
    tsi_retired *next = retired->next;
    retired->free(retired);
    retired = next;
  }
}

void tsi_solves_retire(tsi_solves *solves, tsi_retired *retired) {
  retired->next = solves->retired;
  solves->retired = retired;
}
