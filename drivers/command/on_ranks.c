/* A command under mpiexec: see on_ranks.h. */
#include "drivers/command/on_ranks.h"

#ifdef TSI_HAVE_MPI

#include <inttypes.h>
#include <string.h>

#include "drivers/session/console.h"

bool tsi_rank_0_says(bool ok) {
  int value = ok;
  MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return value;
}

bool tsi_all_ranks_say(tsi_session *s, bool ok) {
  int first = ok ? s->ranks : s->rank, status = (int)s->status, usage = s->usage;
  char message[sizeof s->message];
  MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (first == s->ranks) return true;
  memcpy(message, s->message, sizeof message);
  MPI_Bcast(&status, 1, MPI_INT, first, MPI_COMM_WORLD);
  MPI_Bcast(&usage, 1, MPI_INT, first, MPI_COMM_WORLD);
  MPI_Bcast(message, sizeof message, MPI_CHAR, first, MPI_COMM_WORLD);
  if (first == s->rank) return false;
  s->usage = usage;
  return tsi_session_fail(s, (tristar_status)status, "rank %d: %.600s", first, message);
}

/* Returns the settings of this process: with its share of the node's cores, and without output files, which
 * only rank 0 writes. */
static tsi_settings settings_of_rank(const tsi_settings *given, int rank) {
  tsi_settings settings = *given;
  tristar_config cores;
  tristar_config_init(&cores);
  cores.workers = (int)settings.workers;
  if (tristar_mpi_share_cores(MPI_COMM_WORLD, &cores) == TRISTAR_OK) {
    settings.workers = cores.workers;
    settings.first_core = cores.first_core;
    settings.first_device = cores.first_device;
    settings.rank_devices = cores.devices;
  }
  if (rank > 0) settings.output_count = 0;
  return settings;
}

static int run(const tsi_ranks_command *command, const tsi_settings *given, const char *path, void *state) {
  tsi_session session, *s = &session;
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  tsi_settings settings = settings_of_rank(given, rank);
  tsi_console_mute(rank > 0); /* rank 0 prints the same messages */
  const int wrong = command->check != NULL ? command->check(&settings, ranks, state) : TSI_EXIT_OK;
  tsi_console_mute(false);
  if (wrong != TSI_EXIT_OK) return wrong;
  bool ok = tsi_session_open(s, &settings, path);
  s->rank = rank;
  s->ranks = ranks;
  ok = tsi_all_ranks_say(s, ok);
  ok = ok && tsi_all_ranks_say(s, command->run(s, state));
  if (rank == 0 && command->report != NULL) command->report(s, state);
  if (command->release != NULL) command->release(s, state);
  if (rank > 0) s->status = TRISTAR_OK; /* rank 0 reports */
  int status = tsi_session_close(s);
  if (status == TSI_EXIT_OK && !ok) status = TSI_EXIT_FAILED;
  MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return status;
}

int tsi_run_on_ranks(const tsi_ranks_command *command, const tsi_settings *settings, const char *path,
                     void *state) {
  int level = MPI_THREAD_SINGLE;
  const bool begun = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level) == MPI_SUCCESS;
  tsi_console_mute(false);
  if (!begun) {
    tsi_console_error("MPI cannot be initialized");
    return TSI_EXIT_FAILED;
  }
  const int status = run(command, settings, path, state);
  MPI_Finalize();
  return status;
}

int tsi_check_layout(const char *command, const tsi_settings *settings, int ranks, tristar_layout *layout) {
  if (settings->layout == NULL)
    return tsi_usage_error(command,
                           "%d processes need --layout PXxPYxPZ, or --layout auto, to share the work", ranks);
  const int status = tsi_layout_read(command, settings, layout);
  const int64_t processes = (int64_t)layout->px * layout->py * layout->pz; /* 0: chosen later */
  if (status != TSI_EXIT_OK || processes == 0 || processes == ranks) return status;
  return tsi_usage_error(command, "--layout %s: %" PRId64 " processes, but mpiexec has started %d",
                         settings->layout, processes, ranks);
}

tristar_dmatrix_t *tsi_read_rows(tsi_session *s) {
  tristar_dmatrix_options options;
  tristar_dmatrix_t *matrix;
  tristar_dmatrix_stats stats;
  const double begin = tsi_now();
  tristar_dmatrix_options_init(&options);
  options.engine = TRISTAR_ENGINE_SERIAL; /* there are no products */
  if (s->settings->precision >= 0) options.scalar = "sdczdz"[s->settings->precision];
  if (tristar_dmatrix_read(s->ts, MPI_COMM_WORLD, s->path, &options, &matrix) != TRISTAR_OK) return NULL;
  tristar_dmatrix_get_stats(matrix, &stats);
  s->precision = tsi_precision_of(stats.scalar);
  s->single_factors = s->settings->precision >= 4;
  if (s->precision->width == 2 && stats.symmetry == TRISTAR_SYMMETRIC) tristar_dmatrix_destroy(&matrix);
  s->view =
      (tristar_view){.symmetry = stats.symmetry, .scalar = stats.scalar, .rows = stats.n, .cols = stats.n};
  s->read_s = tsi_now() - begin;
  return matrix;
}

bool tsi_make_rows(tsi_session *s, bool spread, tristar_dmatrix_t **matrix) {
  static const int32_t no_entries[] = {0};
  tristar_dmatrix_options options;
  *matrix = spread ? tsi_read_rows(s) : NULL;
  if (*matrix != NULL) return true;
  if (!tsi_rank_0_says(s->rank > 0 || tsi_session_read(s))) return false;
  s->single_factors = s->settings->precision >= 4; /* on all ranks */
  tristar_view rows = s->view;
  if (s->rank > 0) {
    tristar_view_init(&rows);
    rows.format = TRISTAR_CSR;
    rows.ptr = no_entries;
    rows.index = no_entries;
    rows.values = no_entries;
  }
  MPI_Bcast(&rows.symmetry, (int)sizeof rows.symmetry, MPI_BYTE, 0, MPI_COMM_WORLD);
  MPI_Bcast(&rows.scalar, (int)sizeof rows.scalar, MPI_BYTE, 0, MPI_COMM_WORLD);
  MPI_Bcast(&rows.cols, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  tristar_dmatrix_options_init(&options);
  options.engine = TRISTAR_ENGINE_SERIAL; /* there are no products */
  return tsi_session_check(s, tristar_dmatrix_create(s->ts, MPI_COMM_WORLD, &rows, &options, matrix),
                           s->name);
}

#endif
