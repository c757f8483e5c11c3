/* See accuracy.h. */
#include "drivers/report/accuracy.h"

#include <math.h>
#include <stdio.h>

/* For each tristar_stop: the word in JSON, the text of the report. */
static const struct {
  const char *word, *text;
} stops[] = {
    {"converged", "converged"}, {"limit", "stopped by the limit of steps"}, {"stagnated", "stagnated"}};

tristar_refine_options tsi_accuracy_options(const tsi_session *s) {
  tristar_refine_options options;
  tristar_refine_options_init(&options);
  options.max_steps = (int)s->settings->refine;
  options.forward_error = s->settings->forward_error;
  options.tolerance = s->settings->accuracy;
  return options;
}

bool tsi_accuracy_needs_condition(const tsi_session *s) {
  return s->settings->condition && !(s->f.judged && s->f.reciprocal_condition >= 0);
}

void tsi_accuracy_take_condition(const tsi_session *s, tsi_accuracy *a) {
  if (s->f.judged && s->f.reciprocal_condition >= 0) a->rcond = s->f.reciprocal_condition;
}

/* Is the matrix singular to working precision? Its factors then need --singular perturb. */
static bool is_singular(const tsi_session *s) {
  return s->f.singular;
}

/* A singular system is consistent if its residual, relative to b, is at most this: rounding errors. */
static double consistent(const tsi_session *s) {
  return sqrt(s->precision->epsilon);
}

bool tsi_accuracy_judge(tsi_session *s, const tsi_accuracy *a) {
  const double error = a->refined.backward_error;
  const int64_t perturbed = s->f.perturbed_pivots;
  char pivots[64];
  snprintf(pivots, sizeof pivots, "%s %s", tsi_text_many(perturbed, "pivot"),
           perturbed == 1 ? "was" : "were");
  /* If the backward error is large, the factors and their estimate of the condition are useless. Both
   * comparisons are false for NaN. */
  if (s->settings->singular == TRISTAR_SINGULAR_REFUSE && a->rcond < s->precision->epsilon &&
      error < s->precision->trusted_error)
    return tsi_session_fail(
        s, TRISTAR_ERR_SINGULAR,
        "%s: the matrix is singular to working precision (%s): estimated reciprocal condition "
        "%.1e, %s; --singular perturb solves with it nevertheless",
        s->name, s->precision->text, a->rcond, tsi_text_many(perturbed, "perturbed pivot"));
  if (is_singular(s) && !(a->refined.residual <= consistent(s)))
    return tsi_session_fail(s, TRISTAR_ERR_ACCURACY,
                            "%s: the matrix is singular to working precision, and no solution was found: the "
                            "residual is %.1e times B",
                            s->name, a->refined.residual);
  if (!(error <= tsi_session_tolerance(s))) /* true for NaN */
    return tsi_session_fail(s, TRISTAR_ERR_ACCURACY,
                            "%s: backward error %.1e is above the tolerance %.1e; %s perturbed%s", s->name,
                            error, tsi_session_tolerance(s), pivots,
                            perturbed > 0 ? ": the matrix may be singular" : "");
  return true;
}

void tsi_accuracy_report(const tsi_session *s, const tsi_accuracy *a) {
  const double bound = a->refined.forward_error;
  tsi_report("accuracy", "backward error %.1e after %s of refinement (%.1e before), %s",
             a->refined.backward_error, tsi_text_many(a->refined.steps, "step"),
             a->refined.initial_backward_error, stops[a->refined.stop].text);
  if (a->refined.iterations > 0)
    tsi_report("", "%s of FGMRES, where refinement stagnated",
               tsi_text_many(a->refined.iterations, "iteration"));
  if (!isnan(a->rcond)) tsi_report("", "estimated reciprocal condition %.1e", a->rcond);
  if (is_singular(s) && a->refined.residual <= consistent(s))
    tsi_report("", "A is singular to working precision, X is one of many solutions; residual %.1e times B",
               a->refined.residual);
  if (!s->settings->forward_error) return;
  if (isfinite(bound))
    tsi_report("", "estimated bound of the forward error %.1e%s", bound,
               bound < 1 ? "" : ": no digit of x is certain");
  else
    tsi_report("", "no bound of the forward error found: no digit of x is certain");
}

void tsi_accuracy_json(const tsi_session *s, const tsi_accuracy *a, cJSON *object) {
  TSI_JSON_NUMBERS(object, {"initial_backward_error", a->refined.initial_backward_error},
                   {"backward_error", a->refined.backward_error}, {"residual", a->refined.residual},
                   {"refinement_steps", a->refined.steps}, {"fgmres_iterations", a->refined.iterations});
  cJSON_AddStringToObject(object, "refinement_stop", stops[a->refined.stop].word);
  cJSON_AddNumberToObject(object, "tolerance", tsi_session_tolerance(s));
  if (!isnan(a->rcond)) cJSON_AddNumberToObject(object, "rcond", a->rcond);
  if (s->settings->forward_error) cJSON_AddNumberToObject(object, "forward_error", a->refined.forward_error);
}
