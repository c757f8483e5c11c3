/* `tristar gen`: writes a model problem to a Matrix Market file, or lists the kinds. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/session/commands.h"
#include "drivers/session/files.h"
#include "drivers/report/report.h"

static int list(void) {
  const char *name, *description;
  for (int i = 0; tristar_get_generator(i, &name, &description); i++) printf("%-13s %s\n", name, description);
  return TSI_EXIT_OK;
}

static bool generate(tsi_session *s, int64_t k) {
  const char *kind = s->settings->operand[0], *path = s->settings->out;
  char comment[160];
  if (!tsi_is_generator(s, kind, strlen(kind))) return false;
  if (!tsi_session_check(s, tristar_matrix_generate(s->ts, kind, k, &s->matrix), kind)) return false;
  tristar_matrix_get_view(s->matrix, &s->view);
  snprintf(comment, sizeof comment, "tristar gen %s %" PRId64 " (TriStar %s)", kind, k, tristar_version());
  if (!tsi_session_check(s, tristar_matrix_write(s->ts, path, &s->view, comment), tsi_output_name(path)))
    return false;
  if (s->settings->to_stdout) return true;
  const int64_t *ptr = s->view.ptr;
  printf("%s: %s, %s stored entries, %s\n", path, tsi_text_many(s->view.rows, "row"),
         tsi_text_count(ptr[s->view.cols]), tsi_symmetry_text(s->view.symmetry));
  return true;
}

int tsi_command_gen(const tsi_settings *settings) {
  tsi_session session;
  char *end;
  if (settings->list) return list();
  if (settings->operand[1] == NULL)
    return tsi_usage_error("gen", settings->operand[0] ? "no size K given" : "no KIND given");
  errno = 0;
  const long long k = strtoll(settings->operand[1], &end, 10);
  if (*end != '\0' || end == settings->operand[1] || k < 1)
    return tsi_usage_error("gen", "size %s: not a positive integer", settings->operand[1]);
  if (errno != 0) return tsi_usage_error("gen", "size %s: too large", settings->operand[1]);
  if (settings->out == NULL) return tsi_usage_error("gen", "--out FILE is missing");
  if (tsi_session_open(&session, settings, settings->operand[0])) generate(&session, k);
  return tsi_session_close(&session);
}
