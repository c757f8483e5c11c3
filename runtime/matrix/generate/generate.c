/* The list of the generators: see generate.h. */
#include "runtime/matrix/generate/generate.h"

typedef struct generator {
  const char *name, *description;
  tsi_generate_fn *generate;
} generator;

static const generator generators[] = {
    {"s2d9pt", "2D Poisson, 9-point, K x K grid: K^2 rows, symmetric positive definite", tsi_generate_s2d9pt},
    {"poisson3d7", "3D Poisson, 7-point, K x K x K grid: K^3 rows, symmetric positive definite",
     tsi_generate_poisson3d7},
    {"poisson3d27", "3D Poisson, 27-point, K x K x K grid: K^3 rows, symmetric positive definite",
     tsi_generate_poisson3d27},
    {"elasticity3d",
     "3D linear elasticity, K x K x K trilinear hexahedra, clamped at one face: 3K(K+1)^2 rows, symmetric "
     "positive definite",
     tsi_generate_elasticity3d},
    {"kkt3d",
     "optimal control of 3D Poisson (state, control, multiplier), K x K x K grid: 3K^3 rows, symmetric "
     "indefinite",
     tsi_generate_kkt3d},
    {"maxwell3d",
     "3D time-harmonic Maxwell, lowest-order edge elements, (K+1)^3 cubes in a conducting box: 3(K+1)K^2 "
     "rows, symmetric indefinite",
     tsi_generate_maxwell3d},
    {"chem3d",
     "3D electronic-structure Hamiltonian, 8th-order differences and nonlocal projectors, K x K x K grid: "
     "K^3 rows, symmetric positive definite",
     tsi_generate_chem3d},
    {"fusion2d",
     "2D magnetized plasma, 4 coupled fields, K x K bicubic elements: 4(3K-1)^2 rows, unsymmetric values",
     tsi_generate_fusion2d},
    {"convdiff3d", "3D convection-diffusion, upwind 7-point, K x K x K grid: K^3 rows, unsymmetric values",
     tsi_generate_convdiff3d},
    {"diffusion3d",
     "3D diffusion, 7-point, K x K x K cells of coefficients that jump and span six orders: K^3 rows, "
     "symmetric "
     "positive definite",
     tsi_generate_diffusion3d},
    {"circuit", "circuit of resistors and controlled sources with supply rails, K nodes: K rows, unsymmetric",
     tsi_generate_circuit},
    {"erdos", "for triangles: Erdoes-Renyi pattern, about 10 entries in a row of each: K rows, unsymmetric",
     tsi_generate_erdos},
    {"band",
     "for triangles: random entries near the diagonal, about 1.5 in a row of each: K rows, unsymmetric",
     tsi_generate_band},
    {"chain",
     "for triangles: three diagonals, so that each row waits for the one before: K rows, unsymmetric",
     tsi_generate_chain},
};

#define GENERATORS ((int)(sizeof generators / sizeof generators[0]))

int tristar_get_generator(int i, const char **name, const char **description) {
  if (name != NULL) *name = NULL;
  if (description != NULL) *description = NULL;
  if (i < 0 || i >= GENERATORS) return 0;
  if (name != NULL) *name = generators[i].name;
  if (description != NULL) *description = generators[i].description;
  return 1;
}

tristar_status tsi_matrix_generate(tsi_env *env, const char *kind, int64_t k, tsi_matrix_part *part,
                                   tristar_matrix_t **matrix) {
  int i = 0;
  *matrix = NULL;
  if (k < 1)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "generator %.40s: size %lld is less than 1", kind, (long long)k);
  if (k > TSI_INDEX_MAX)
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "generator %.40s: size %lld is too large: at most %d", kind,
             (long long)k, (int)TSI_INDEX_MAX);
  while (i < GENERATORS && strcmp(generators[i].name, kind) != 0) i++;
  if (i == GENERATORS)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "no generator is named \"%.40s\" (the first of %d is \"%s\")", kind,
             GENERATORS, generators[0].name);
  return generators[i].generate(env, k, part, matrix);
}
