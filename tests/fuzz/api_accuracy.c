/* The accuracy that a solve returns: refinement, condition, residual. */
#include "tests/fuzz/api.h"

static void judge_refined(const cell *c, bool perturbed, tristar_op op, const operands *o,
                          const tristar_refine_options *options, const tristar_refine_result *result) {
  const double eps = unit_roundoff(c->p->scalar);
  number b[ORDER_MOST], x[ORDER_MOST];
  long double documented = 0, strict = 0, forward = 0, underflow = 0;
  bool finite = true;
  MUST(!isnan(result->forward_error), "the bound of the forward error is NaN");
  if (c->p->n == 0 || o->nrhs == 0) return;
  const reference *r = values_reference(c->p, c->v);
  const bool scaled = badly_scaled(c) || (mixed(c) && !c->v->fits_single);
  for (int64_t k = 0; k < o->nrhs; k++) {
    fetch_column(c, o->b, k * o->next_b, 1, b);
    fetch_column(c, o->x, k * o->next_x, 1, x);
    const errors e = measure(c, op, b, x);
    finite = finite && e.finite;
    documented = fmaxl(documented, e.documented);
    strict = fmaxl(strict, e.strict);
    forward = fmaxl(forward, e.forward);
    underflow = fmaxl(underflow, e.underflow);
    if (!well_conditioned(c) || matched_otherwise(c) || options->max_steps < 5 ||
        options->max_iterations < 30 || options->tolerance > 0)
      continue;
    /* Perturbed pivots may need more iterations than allowed; the result reports it. */
    if (perturbed && result->iterations >= options->max_iterations) continue;
    /* Without a matching, zeros on the diagonal make the factors inaccurate; the result reports it, too. */
    if (perturbed && lacks_pivots(c) && result->stop == TRISTAR_STOP_STAGNATED &&
        result->backward_error >= (double)e.documented / 2)
      continue;
    const long double limit = 100.0L * (c->p->n + 10) * eps + e.underflow;
    MUST(e.finite && e.documented <= limit,
         "refined backward error %Lg is above %Lg; condition %Lg, reported %g", e.documented, limit, r->bauer,
         result->backward_error);
    /* Rows of tiny terms are not solved to their last digit: see tristar_refine_options. */
    const long double sensitivity = e.strict <= limit ? e.sensitivity : e.documented_sensitivity;
    MUST(e.forward <= limit * sensitivity, "forward error %Lg, sensitivity %Lg", e.forward, sensitivity);
  }
  if (scaled) return;
  const long double reported = result->backward_error, rounding = 10.0L * (c->p->n + 10) * eps + underflow;
  if (finite) /* The library takes the smaller one of two norms of x. No number of the type can hold a
                 residual below its range. */
    MUST(reported >= 0.5L * documented - rounding && reported <= 1.5L * strict + rounding,
         "backward error %Lg, without a norm %Lg, was reported as %g", documented, strict,
         result->backward_error);
  if (!options->forward_error || !r->trusted || !finite || r->bauer * c->p->n > 1e14L) return;
  MUST(result->forward_error >= forward / 10, "forward error %Lg, but the bound is %g; condition %Lg",
       forward, result->forward_error, r->bauer);
}

bool may_overflow(const cell *c, const operands *o) {
  const long double limit = is_single(c->p->scalar) || mixed(c) ? 1e30L : 1e290L;
  long double most = 0;
  if (c->v == NULL) return false;
  if (!values_reference(c->p, c->v)->trusted) return true; /* singular, or nearly: x may be anything */
  for (int64_t k = 0; k < o->nrhs; k++)
    for (int64_t i = 0; i < o->rows_b; i++)
      most = fmaxl(most, cabsl(get(c->p->scalar, o->b, (int)(i * o->step_b + k * o->next_b))));
  return most * c->p->n * values_reference(c->p, c->v)->most > limit;
}

void call_refined(void) {
  const plan_slot *p = &g->plan[below(&g->in, SLOTS)];
  if (p->handle == NULL) return;
  const cell *c = p->cell;
  const tristar_op op = choose_op();
  const operands o = choose_operands(c);
  tristar_refine_options options;
  tristar_refine_result result = {.forward_error = NAN};
  tristar_refine_options_init(&options);
  options.forward_error = chance(&g->in, 64);
  if (chance(&g->in, 48)) {
    options.max_steps = below(&g->in, 7);
    options.max_iterations = below(&g->in, 40);
    options.tolerance = chance(&g->in, 64) ? 1e-6 : 0;
  }
  note("steps %d, iterations %d, tolerance %g, bound %d\n", options.max_steps, options.max_iterations,
       options.tolerance, options.forward_error);
  if (chance(&g->in, 12) && c->v != NULL && c->p->n > 0 && o.nrhs > 0) {
    void *before = keep(o.bytes);
    memcpy(before, o.b, o.bytes);
    outcome("tristar_solve_refined, x = b",
            tristar_solve_refined(p->handle, op, o.nrhs, o.b, o.next_b, o.b, o.next_b, &options, &result),
            BIT(TRISTAR_ERR_ARGUMENT));
    MUST(memcmp(before, o.b, o.bytes) == 0, "a refused call has overwritten b");
    return;
  }
  arm();
  const tristar_status status =
      outcome("tristar_solve_refined",
              tristar_solve_refined(p->handle, op, o.nrhs, o.b, o.next_b, o.x, o.next_x, &options, &result),
              range_statuses(c, &o));
  if (status != TRISTAR_OK) return;
  judge_gaps(c, &o);
  judge_refined(c, p->handle->factor->stats.perturbed_pivots > 0, op, &o, &options, &result);
}

/* Condition of the matrix with the scaling of the factorization. */
static long double scaled_condition(const cell *c, const tristar_factor_t *f) {
  static square scaled;
  static reference r;
  double row[ORDER_MOST], column[ORDER_MOST];
  long double norm = 0, inverse_norm = 0;
  tristar_factor_get_order(f, NULL, NULL, row, column);
  for (int i = 0; i < c->p->n; i++)
    for (int j = 0; j < c->p->n; j++) scaled[i][j] = c->v->truth[i][j] * row[i] * column[j];
  reference_make(c->p->n, scaled, &r);
  for (int j = 0; j < c->p->n; j++) {
    long double sum = 0, inverse_sum = 0;
    for (int i = 0; i < c->p->n; i++) sum += cabsl(scaled[i][j]), inverse_sum += cabsl(r.inverse[i][j]);
    norm = fmaxl(norm, sum);
    inverse_norm = fmaxl(inverse_norm, inverse_sum);
  }
  return r.trusted ? norm * inverse_norm : INFINITY;
}

void call_condition(void) {
  const plan_slot *p = &g->plan[below(&g->in, SLOTS)];
  const factor_slot *f = &g->factor[below(&g->in, SLOTS)];
  double reciprocal = -1;
  if (p->handle == NULL) return;
  const cell *c = p->cell;
  arm();
  if (outcome("tristar_condition", tristar_condition(p->handle, &reciprocal), solve_statuses(c)) !=
      TRISTAR_OK)
    return;
  note("condition %g\n", reciprocal);
  MUST(reciprocal >= 0 && reciprocal <= 1 + 1e-5, "the reciprocal condition is %g", reciprocal);
  if (c->p->n == 0 || f->cell != c || f->handle == NULL || !well_conditioned(c) || badly_scaled(c) ||
      analyzed_otherwise(c) || (reciprocal == 0 && lacks_pivots(c)))
    return;
  const long double truth = 1 / scaled_condition(c, f->handle);
  if (truth < 1e3 * c->eps) return;
  /* For a complex number the magnitude is the sum of the magnitudes of its parts. */
  MUST(reciprocal >= truth / (is_complex(c->p->scalar) ? 2.2 : 1.1) && reciprocal <= 100 * truth,
       "the reciprocal condition is %g, but should be %Lg", reciprocal, truth);
}

/* r = b - op(A) x to rounding errors. */
void judge_residual_of(const cell *c, tristar_op op, const operands *o, const void *r) {
  const double eps = unit_roundoff(c->p->scalar);
  if (values_reference(c->p, c->v)->most > (is_single(c->p->scalar) ? 1e30L : 1e290L) || !c->v->finite)
    return;
  const long double floor = smallest_number(c->p->scalar); /* of underflow */
  for (int64_t k = 0; k < o->nrhs; k++)
    for (int i = 0; i < c->p->n; i++) {
      number sum = get(c->p->scalar, o->b, (int)(i + k * o->next_b));
      long double size = cabsl(sum);
      for (int j = 0; j < c->p->n; j++) {
        const number x = get(c->p->scalar, o->x, (int)(j + k * o->next_x));
        sum -= reference_op(c->v->truth, op, i, j) * x;
        size += magnitude_of_op(c->v, op, i, j) * cabsl(x);
      }
      const number reported = get(c->p->scalar, r, (int)(i + k * o->next_b));
      MUST(cabsl(reported - sum) <= 8 * (c->p->n + 10) * (eps * size + floor),
           "residual %Lg%+Lgi, reported %Lg%+Lgi, size %Lg", creall(sum), cimagl(sum), creall(reported),
           cimagl(reported), size);
    }
}

void call_residual(void) {
  const factor_slot *f = &g->factor[below(&g->in, SLOTS)];
  double error = -1;
  if (f->handle == NULL || f->cell->v == NULL) return;
  const cell *c = f->cell;
  const tristar_op op = choose_op();
  operands o = choose_operands(c);
  for (int64_t k = 0; k < o.nrhs; k++)
    for (int i = 0; i < c->p->n; i++)
      put(c->p->scalar, o.x, (int)(i + k * o.next_x), rhs_entry(c, RHS_UNIFORM, 17, i, (int)k));
  void *r = keep(o.bytes);
  arm();
  if (outcome("tristar_residual",
              tristar_residual(f->handle, op, o.nrhs, o.b, o.next_b, o.x, o.next_x, r, o.next_b, &error),
              ONLY_OK) == TRISTAR_OK)
    judge_residual_of(c, op, &o, r);
}
