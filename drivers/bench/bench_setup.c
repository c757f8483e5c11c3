/* The contenders of `tristar bench`, from the lists of the command line: see bench.h.
 *
 * Reads   --nrhs, --workers, --sched, --variants, --compress, --store, --peers; the programs of peers in the
 * folder TRISTAR_PEERS; or, relative to this program, in tools/peers (a build) or in TSI_PEERS_FOLDER
 * (installed). The build defines the latter as the path from the folder of this program. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/bench/bench.h"
#include "drivers/session/console.h"
#include "drivers/session/files.h"
#include "drivers/report/report.h"
#include "drivers/session/session.h"
#include "drivers/session/variant.h"
#include "runtime/base/variables.h"
#include "tristar.h"

const tsi_bench_family tsi_bench_solvers = {
    .peers = {{.name = "cholmod", .title = "CHOLMOD"},
              {.name = "umfpack", .title = "UMFPACK"},
              {.name = "superlu", .title = "SuperLU"},
              {.name = "superlu_dist", .title = "SuperLU_DIST"},
              {.name = "mumps", .title = "MUMPS"},
              {.name = "eigen", .title = "Eigen", .one_thread = true}},
    .program = "%s_solve",
    .packages = "libsuitesparse-dev,\nlibsuperlu-dev, libsuperlu-dist-dev, libmumps-seq-dev, libeigen3-dev",
    .threads = true,
    .rates = true};
static const tsi_bench_family triangle_family = {
    .peers = {{.name = "plain", .title = "plain sweep"},
              {.name = "cxsparse", .title = "CXSparse"},
              {.name = "eigen", .title = "Eigen"},
              {.name = "petsc", .title = "PETSc"},
              {.name = "kokkos", .title = "KokkosKernels"}},
    .program = "triangle_%s",
    .packages = "libsuitesparse-dev,\nlibeigen3-dev, libpetsc-real-dev, libtrilinos-kokkos-kernels-dev"};

#ifdef TSI_HAVE_MPI
enum { RANKS_DEFAULT = 2 }; /* 1, 2 */
#else
enum { RANKS_DEFAULT = 1 };
#endif

enum { HYPRE, PETSC };
static const tsi_bench_family inverse_family = {
    .peers = {[HYPRE] = {.name = "hypre", .title = "hypre"}, [PETSC] = {.name = "petsc", .title = "PETSc"}},
    .rates = true,
    .program = "krylov_%s",
    .packages = "libhypre-dev,\nlibpetsc-real-dev"};

/* Each runs on any number of processes; PETSc's incomplete factors are those of diagonal blocks. */
static const tsi_bench_krylov inverses[] = {
    {"TriStar, FSAI", -1, "cg", "fsai", NULL},
    {"TriStar, FSAI, pipelined", -1, "pipelined-cg", "fsai", NULL},
    {"TriStar, Jacobi", -1, "cg", "jacobi", NULL},
    {"hypre, FSAI", HYPRE, "cg", "fsai", NULL},
    {"PETSc, Jacobi", PETSC, "cg", "jacobi", "-ksp_type cg -pc_type jacobi"},
    {"PETSc, ICC", PETSC, "cg", "icc", "-ksp_type cg -pc_type bjacobi -sub_pc_type icc"}};

/* ---- TriStar ------------------------------------------------------------------------------------------ */

/* Appends a contender with this name. Returns NULL with a message if there are too many. */
__attribute__((format(printf, 5, 6))) static tsi_bench_contender *add(tsi_bench_setup *setup, int peer,
                                                                      int threads, const char *program,
                                                                      const char *format, ...) {
  if (setup->count == TSI_BENCH_CONTENDERS_MAX) {
    (void)tsi_usage_error("bench", "more than %d combinations of workers, schedulers and peers",
                          TSI_BENCH_CONTENDERS_MAX);
    return NULL;
  }
  va_list args;
  tsi_bench_contender *contender = &setup->contenders[setup->count++];
  *contender = (tsi_bench_contender){.peer = peer, .threads = threads};
  snprintf(contender->program, sizeof contender->program, "%s", program);
  va_start(args, format);
  vsnprintf(contender->name, sizeof contender->name, format, args);
  va_end(args);
  return contender;
}

/* variant "": the default. */
static int add_tristar(tsi_bench_setup *setup, int threads, const char *scheduler, const char *variant,
                       const char *program) {
  tsi_bench_contender *contender =
      add(setup, -1, threads, program, "TriStar, %s, %s%s%s", tsi_text_many(threads, "worker"), scheduler,
          *variant ? ", " : "", variant);
  if (contender == NULL) return TSI_EXIT_USAGE;
  snprintf(contender->scheduler, sizeof contender->scheduler, "%.31s", scheduler);
  snprintf(contender->variant, sizeof contender->variant, "%s", variant);
  contender->option = *variant ? "--variant" : NULL;
  snprintf(contender->value, sizeof contender->value, "%s", variant);
  if (threads > setup->workers_most) setup->workers_most = threads;
  return TSI_EXIT_OK;
}

/* Adds variants, with the largest number of workers and the first scheduler. */
static int add_variants(tsi_bench_setup *setup, const char *text, const char *scheduler,
                        const char *program) {
  tsi_list list;
  const char *word;
  char why[256];
  const int workers = setup->workers_most;
  if (strcmp(text, "all") == 0) {
    int status = TSI_EXIT_OK;
    for (int k = 0; status == TSI_EXIT_OK && tsi_variant_word(k, &word, NULL); k++)
      status = add_tristar(setup, workers, scheduler, word, program);
    return status;
  }
  int status = tsi_list_split("bench", "variants", text, &list);
  for (int k = 0; k < list.count && status == TSI_EXIT_OK; k++) {
    if (tsi_variant_wrong(list.word[k], why, sizeof why))
      return tsi_usage_error("bench", "--variants %s: %s; all: each of them", text, why);
    status = add_tristar(setup, workers, scheduler, list.word[k], program);
  }
  return status;
}

static bool is_tolerance(const char *word) {
  char *end;
  const double value = strtod(word, &end);
  return end != word && *end == '\0' && value > 0 && value < 1;
}

static bool is_narrow(const char *word) {
  return strcmp(word, "s") == 0 || strcmp(word, "b") == 0;
}

/* Adds, like variants, solves with a copy of the factor for each value of `option`. needs: describes the
 * values that `right` accepts. */
static int add_copies(tsi_bench_setup *setup, const char *option, const char *text,
                      bool (*right)(const char *word), const char *needs, const char *scheduler,
                      const char *program) {
  tsi_list list;
  char name[80];
  const int workers = setup->workers_most;
  if (text == NULL) return TSI_EXIT_OK;
  int status = tsi_list_split("bench", option + 2, text, &list);
  for (int k = 0; k < list.count && status == TSI_EXIT_OK; k++) {
    if (!right(list.word[k]))
      return tsi_usage_error("bench", "%s %s: '%s' is not %s", option, text, list.word[k], needs);
    snprintf(name, sizeof name, "%s %s", option + 2, list.word[k]);
    status = add_tristar(setup, workers, scheduler, name, program);
    if (status != TSI_EXIT_OK) return status;
    tsi_bench_contender *contender = &setup->contenders[setup->count - 1];
    contender->option = option;
    snprintf(contender->value, sizeof contender->value, "%s", list.word[k]);
  }
  return status;
}

/* Splits the list; "all" means the default one, then all others of this StarPU. */
static int split_schedulers(const char *text, tsi_list *list) {
  const char *name;
  const bool all = strcmp(text, "all") == 0;
  int status = tsi_list_split("bench", "sched", all ? "lws" : text, list);
  if (!all) {
    for (int k = 0; status == TSI_EXIT_OK && k < list->count; k++)
      if (strcmp(list->word[k], "all") == 0)
        return tsi_usage_error("bench", "--sched %s: all goes alone", text);
    return status;
  }
  for (int k = 0; status == TSI_EXIT_OK && tristar_get_scheduler(k, &name, NULL); k++) {
    if (strcmp(name, "lws") == 0 || strlen(name) >= sizeof list->word[0]) continue;
    if (list->count == TSI_LIST_MAX)
      return tsi_usage_error("bench", "--sched all: more than %d schedulers", TSI_LIST_MAX);
    snprintf(list->word[list->count++], sizeof list->word[0], "%s", name);
  }
  return status;
}

/* Adds each partition with each number of workers; the automatic one is the default. */
static int add_partitions(tsi_bench_setup *setup, const int64_t *workers, int count, const char *scheduler,
                          const char *program) {
  const char *text = setup->settings->partitions_list, *valid_names;
  tsi_list list = {.count = 0};
  int status = text != NULL ? tsi_list_split("bench", "partitions", text, &list) : TSI_EXIT_OK;
  for (int k = 0; text == NULL && (valid_names = tsi_options_word("partition", k)) != NULL; k++)
    snprintf(list.word[list.count++], sizeof list.word[0], "%s", valid_names);
  for (int k = 0; k < list.count && status == TSI_EXIT_OK; k++) {
    int word = 0;
    while ((valid_names = tsi_options_word("partition", word)) != NULL &&
           strcmp(valid_names, list.word[k]) != 0)
      word++;
    if (valid_names == NULL)
      return tsi_usage_error("bench",
                             "--partitions %s: unknown partition '%s'; tristar trisolve --help tells them",
                             text, list.word[k]);
    for (int w = 0; w < count && status == TSI_EXIT_OK; w++) {
      status = add_tristar(setup, (int)workers[w], scheduler, word == 0 ? "" : valid_names, program);
      if (status == TSI_EXIT_OK)
        snprintf(setup->contenders[setup->count - 1].name, sizeof setup->contenders[0].name, "%s, %s",
                 valid_names, tsi_text_many(workers[w], "worker"));
    }
  }
  return status;
}

static int add_all_tristar(tsi_bench_setup *setup, int cores, const char *program) {
  const tsi_settings *settings = setup->settings;
  int64_t workers[TSI_LIST_MAX] = {1, cores};
  int count = cores > 1 ? 2 : 1, status = TSI_EXIT_OK;
  tsi_list schedulers;
  setup->all_schedulers = settings->sched_list != NULL && strcmp(settings->sched_list, "all") == 0;
  if (setup->all_schedulers || settings->quick) { /* only with all cores, unless numbers are given */
    workers[0] = cores;
    count = 1;
  }
  if (settings->workers_list != NULL)
    status = tsi_list_numbers("bench", "workers", settings->workers_list, 4096, cores, workers, &count);
  if (status == TSI_EXIT_OK)
    status = split_schedulers(settings->sched_list != NULL ? settings->sched_list : "lws", &schedulers);
  if (status == TSI_EXIT_OK) setup->schedulers = schedulers.count;
  if (settings->triangular && status == TSI_EXIT_OK && schedulers.count > 1)
    return tsi_usage_error("bench", "--triangular goes with one scheduler");
  if (settings->triangular && status == TSI_EXIT_OK)
    return add_partitions(setup, workers, count, schedulers.word[0], program);
  for (int w = 0; w < count && status == TSI_EXIT_OK; w++)
    for (int k = 0; k < schedulers.count && status == TSI_EXIT_OK; k++)
      status = add_tristar(setup, (int)workers[w], schedulers.word[k], "", program);
  if (status == TSI_EXIT_OK && settings->variants_list != NULL)
    status = add_variants(setup, settings->variants_list, schedulers.word[0], program);
  if (status == TSI_EXIT_OK)
    status = add_copies(setup, "--compress", settings->compress_list, is_tolerance,
                        "a tolerance between 0 and 1", schedulers.word[0], program);
  if (status == TSI_EXIT_OK)
    status =
        add_copies(setup, "--store", settings->store_list, is_narrow, "s or b", schedulers.word[0], program);
  return status;
}

/* ---- Peers -------------------------------------------------------------------------------------------- */

/* The folders in which programs of peers may be. */
typedef struct folders {
  char path[2][PATH_MAX];
  int count;
} folders;

static void list_folders(folders *f, const char *program) {
  const char *given = tsi_variable(TSI_VARIABLE_PEERS);
  f->count = 0;
  if (given != NULL) {
    snprintf(f->path[f->count++], PATH_MAX, "%s", given);
    return; /* a given folder excludes all others */
  }
  tsi_relative_to_program(program, "tools/peers", f->path[f->count++], PATH_MAX);
  tsi_relative_to_program(program, TSI_PEERS_FOLDER, f->path[f->count++], PATH_MAX);
}

/* Finds the program of a peer. name: space for its name. */
static bool find_program(const folders *f, const tsi_bench_family *family, int peer, char name[64],
                         char *path, size_t size) {
  const char *mark = strchr(family->program, '%'); /* of "%s" */
  snprintf(name, 64, "%.*s%s%s", (int)(mark - family->program), family->program, family->peers[peer].name,
           mark + 2);
  for (int k = 0; k < f->count; k++)
    if ((size_t)snprintf(path, size, "%s/%s", f->path[k], name) < size && access(path, X_OK) == 0)
      return true;
  return false;
}

/* Adds the iterative solvers of a peer, or of TriStar, with each number of processes. */
static int add_inverses(tsi_bench_setup *setup, int peer, const char *program) {
  const tsi_settings *settings = setup->settings;
  int64_t ranks[TSI_LIST_MAX] = {1, 2};
  int count = RANKS_DEFAULT;
  int status = settings->ranks_list == NULL
                   ? TSI_EXIT_OK
                   : tsi_list_numbers("bench", "ranks", settings->ranks_list, 4096, 0, ranks, &count);
  for (int r = 0; r < count && status == TSI_EXIT_OK; r++)
    for (size_t k = 0; k < sizeof inverses / sizeof *inverses; k++) {
      if (inverses[k].peer != peer) continue;
      const int processes = (int)ranks[r];
      tsi_bench_contender *contender = add(setup, peer, 1, program, "%s, %d process%s", inverses[k].title,
                                           processes, processes == 1 ? "" : "es");
      if (contender == NULL) return TSI_EXIT_USAGE;
      contender->krylov = &inverses[k];
      contender->ranks = processes;
      if (processes > setup->workers_most) setup->workers_most = processes;
    }
  return status;
}

/* Adds a peer with 1, 2 and as many threads as cores; a peer without threads only once. --quick: only with
 * all. */
static int add_peer(tsi_bench_setup *setup, int peer, int cores, const char *program) {
  if (setup->settings->bench_fsai) return add_inverses(setup, peer, program);
  const int threads[] = {1, cores > 1 ? 2 : 1, cores};
  const tsi_bench_peer *entry = &setup->family->peers[peer];
  const int count = !setup->family->threads || entry->one_thread ? 1 : cores > 2 ? 3 : cores;
  for (int t = setup->settings->quick ? count - 1 : 0; t < count; t++) {
    const char *with = setup->family->threads ? tsi_text_many(threads[t], "thread") : "";
    if (add(setup, peer, threads[t], program, "%s%s%s", entry->title, *with ? ", " : "", with) == NULL)
      return TSI_EXIT_USAGE;
  }
  return TSI_EXIT_OK;
}

static int peer_of(const tsi_bench_family *family, const char *word) {
  for (int k = 0; k < TSI_BENCH_PEERS && family->peers[k].name != NULL; k++)
    if (strcmp(word, family->peers[k].name) == 0) return k;
  return -1;
}

static int unknown_peer(const tsi_bench_family *family, const char *text, const char *word) {
  char names[160] = "";
  for (int k = 0; k < TSI_BENCH_PEERS && family->peers[k].name != NULL; k++) {
    const size_t used = strlen(names);
    snprintf(names + used, sizeof names - used, "%s%s", k > 0 ? ", " : "", family->peers[k].name);
  }
  return tsi_usage_error("bench", "--peers %s: unknown peer '%s'; the peers are %s; none: no peer; all", text,
                         word, names);
}

static int add_named_peers(tsi_bench_setup *setup, const char *text, int cores, const folders *f) {
  char path[PATH_MAX + 32], name[64];
  tsi_list list;
  int status = tsi_list_split("bench", "peers", text, &list);
  for (int k = 0; k < list.count && status == TSI_EXIT_OK; k++)
    if (peer_of(setup->family, list.word[k]) < 0) return unknown_peer(setup->family, text, list.word[k]);
  for (int k = 0; k < list.count && status == TSI_EXIT_OK; k++) {
    const int peer = peer_of(setup->family, list.word[k]);
    if (!find_program(f, setup->family, peer, name, path, sizeof path)) {
      tsi_console_error("bench: the peer %s is not installed: no %s in %s%s%s", list.word[k], name,
                        f->path[0], f->count > 1 ? " or " : "", f->count > 1 ? f->path[1] : "");
      return TSI_EXIT_FAILED;
    }
    status = add_peer(setup, peer, cores, path);
  }
  return status;
}

static int add_found_peers(tsi_bench_setup *setup, int cores, const folders *f) {
  /* With --quick the peers that are often fastest come first: CHOLMOD, MUMPS, SuperLU, UMFPACK. */
  static const int quick[TSI_BENCH_PEERS] = {0, 4, 2, 1, 3, 5};
  char path[PATH_MAX + 32], name[64];
  int status = TSI_EXIT_OK;
  for (int p = 0; p < TSI_BENCH_PEERS && setup->family->peers[p].name != NULL && status == TSI_EXIT_OK; p++) {
    const int k = setup->settings->quick ? quick[p] : p;
    setup->missing[k] = !find_program(f, setup->family, k, name, path, sizeof path);
    if (!setup->missing[k]) status = add_peer(setup, k, cores, path);
  }
  return status;
}

int tsi_bench_setup_make(tsi_bench_setup *setup, const tsi_settings *settings) {
  char program[PATH_MAX];
  folders f;
  const int cores = (settings->triangular ? tsi_expected_cores : tsi_expected_workers)(settings);
  *setup = (tsi_bench_setup){.settings = settings,
                             .begin = tsi_now(),
                             .family = settings->bench_fsai   ? &inverse_family
                                       : settings->triangular ? &triangle_family
                                                              : &tsi_bench_solvers,
                             .workers_most = 1,
                             .schedulers = 1,
                             .nrhs = {1},
                             .nrhs_count = 1};
  if (!tsi_own_path(program, sizeof program)) {
    tsi_console_error("bench: the path of this program is too long");
    return TSI_EXIT_FAILED;
  }
  list_folders(&f, program);
  int status = TSI_EXIT_OK;
  if (settings->nrhs_list != NULL)
    status =
        tsi_list_numbers("bench", "nrhs", settings->nrhs_list, 1000000, 0, setup->nrhs, &setup->nrhs_count);
  if (status == TSI_EXIT_OK)
    status = settings->bench_fsai ? add_inverses(setup, -1, program) : add_all_tristar(setup, cores, program);
  const char *peers = settings->peers_list != NULL ? settings->peers_list : "all";
  if (status != TSI_EXIT_OK || strcmp(peers, "none") == 0) return status;
  return strcmp(peers, "all") != 0 ? add_named_peers(setup, peers, cores, &f)
                                   : add_found_peers(setup, cores, &f);
}
