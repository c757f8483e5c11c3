/* TriStar for C++17: owners of the objects of tristar.h, views of arrays, exceptions.
 *
 *   tristar::solver<double> solver(tristar::csc<double>(n, ptr, index, values));
 *   std::vector<double> x = solver.solve(b);      many times
 *   solver.refactor(values);                      new values of the same pattern
 *
 * The classes are owners that can be moved and not be copied. They throw tristar::error, which holds the
 * status and the message of the library. get() returns the object of C for all other functions of TriStar.
 * Arrays are passed as tristar::span: std::vector, std::array and all else with data() and size() convert to
 * it. Types of entries are float, double, std::complex<float> and std::complex<double>. tristar_eigen.hpp has
 * solvers for Eigen. */
#ifndef TRISTAR_HPP
#define TRISTAR_HPP

#include <complex>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tristar.h"
#include "tristar_precond.h"
#include "tristar_solve.h"
#include "tristar_stats.h"

/* The interface of TriStar for C++. */
namespace tristar {

/* ---- Errors ------------------------------------------------------------------------------------------ */

/* A function of the library failed. */
class error : public std::runtime_error {
public:
  /* message: the text of the calling thread's latest error. */
  error(tristar_status status, const std::string &message)
      : std::runtime_error(std::string(tristar_status_name(status)) + ": " + message), status_(status) {}
  /* The cause. */
  tristar_status status() const noexcept { return status_; }

private:
  tristar_status status_;
};

/* The matrix is singular, or Cholesky found a pivot that is not positive. */
class singular_error : public error {
public:
  using error::error;
};

/* Throws the error of a status, with the library's message, unless it is TRISTAR_OK. */
inline void check(tristar_status status) {
  if (status == TRISTAR_OK) return;
  std::string message(tristar_get_error(nullptr, nullptr, 0), '\0');
  tristar_get_error(nullptr, message.data(), message.size() + 1);
  if (status == TRISTAR_ERR_SINGULAR || status == TRISTAR_ERR_NOT_POSITIVE_DEFINITE)
    throw singular_error(status, message);
  throw error(status, message);
}

/* ---- Arrays ------------------------------------------------------------------------------------------ */

/* A contiguous array that another object owns. */
template <class T> class span {
public:
  /* No elements. */
  constexpr span() noexcept = default;
  /* size elements from data on. */
  constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
  /* All of a container. */
  template <class Container, class = std::enable_if_t<
                                 std::is_convertible_v<decltype(std::declval<Container &>().data()), T *>>>
  constexpr span(Container &&container) noexcept : data_(container.data()), size_(container.size()) {}
  /* The first element. */
  constexpr T *data() const noexcept { return data_; }
  /* Number of elements. */
  constexpr std::size_t size() const noexcept { return size_; }
  /* Iterators. */
  constexpr T *begin() const noexcept { return data_; }
  constexpr T *end() const noexcept { return data_ + size_; } /* See begin. */
  /* Element i; i is not checked. */
  constexpr T &operator[](std::size_t i) const noexcept { return data_[i]; }

private:
  T *data_ = nullptr;
  std::size_t size_ = 0;
};

/* The tristar_scalar of a C++ type. */
template <class T> constexpr tristar_scalar scalar_of() {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double> ||
                    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>,
                "TriStar has float, double, std::complex<float> and std::complex<double>");
  return std::is_same_v<T, float>                 ? TRISTAR_SINGLE
         : std::is_same_v<T, double>              ? TRISTAR_DOUBLE
         : std::is_same_v<T, std::complex<float>> ? TRISTAR_COMPLEX_SINGLE
                                                  : TRISTAR_COMPLEX_DOUBLE;
}

/* A sparse matrix in arrays of the caller, with entries of type T. */
template <class T> struct matrix_view {
  tristar_view view; /* The view of C. */
  /* The values, in the order of the view. */
  span<const T> values() const { return {static_cast<const T *>(view.values), size}; }
  std::size_t size; /* Number of entries. */
};

/* A square matrix with n rows in compressed form. ptr: n + 1 integers; index and values: an integer and a
 * value for each entry. Integers have 32 or 64 bits. Throws ARGUMENT if lengths do not fit each other. */
template <class T, class Ptr, class Index>
matrix_view<T> compressed(tristar_format format, std::int64_t n, span<const Ptr> ptr, span<const Index> index,
                          span<const T> values, tristar_symmetry symmetry) {
  static_assert((sizeof(Ptr) == 4 || sizeof(Ptr) == 8) && (sizeof(Index) == 4 || sizeof(Index) == 8),
                "integers of 32 or 64 bits");
  if (n < 0 || ptr.size() != static_cast<std::size_t>(n) + 1 || index.size() != values.size() ||
      index.size() != static_cast<std::size_t>(ptr[ptr.size() - 1] - ptr[0]))
    throw error(TRISTAR_ERR_ARGUMENT, "lengths of ptr, index and values do not fit each other");
  matrix_view<T> matrix{{}, values.size()};
  tristar_view_init(&matrix.view);
  matrix.view.format = format;
  matrix.view.symmetry = symmetry;
  matrix.view.scalar = scalar_of<T>();
  matrix.view.rows = matrix.view.cols = n;
  matrix.view.ptr = ptr.data();
  matrix.view.index = index.data();
  matrix.view.values = values.data();
  matrix.view.ptr_bits = 8 * static_cast<int>(sizeof(Ptr));
  matrix.view.index_bits = 8 * static_cast<int>(sizeof(Index));
  matrix.view.base = static_cast<int>(ptr[0]);
  return matrix;
}

/* The type of the elements of a container. */
template <class Container>
using element =
    std::remove_const_t<std::remove_reference_t<decltype(*std::declval<const Container &>().data())>>;

/* Compressed columns, as by compressed. The arrays live as long as the view is used. */
template <class T, class Ptr, class Index, class Values>
matrix_view<T> csc(std::int64_t n, const Ptr &ptr, const Index &index, const Values &values,
                   tristar_symmetry symmetry = TRISTAR_GENERAL) {
  return compressed<T, element<Ptr>, element<Index>>(TRISTAR_CSC, n, ptr, index, values, symmetry);
}
/* Compressed rows, as by compressed. */
template <class T, class Ptr, class Index, class Values>
matrix_view<T> csr(std::int64_t n, const Ptr &ptr, const Index &index, const Values &values,
                   tristar_symmetry symmetry = TRISTAR_GENERAL) {
  return compressed<T, element<Ptr>, element<Index>>(TRISTAR_CSR, n, ptr, index, values, symmetry);
}

/* ---- Options ----------------------------------------------------------------------------------------- */

/* tristar_config with its defaults. */
struct config : tristar_config {
  config() { tristar_config_init_sized(this, sizeof(tristar_config)); } /* Sets the defaults. */
};
/* tristar_analysis_options with its defaults. */
struct analysis_options : tristar_analysis_options {
  analysis_options() {
    tristar_analysis_options_init_sized(this, sizeof(tristar_analysis_options));
  } /* Sets the defaults. */
};
/* tristar_plan_options with its defaults. */
struct plan_options : tristar_plan_options {
  plan_options() {
    tristar_plan_options_init_sized(this, sizeof(tristar_plan_options));
  } /* Sets the defaults. */
};
/* tristar_refine_options with its defaults. */
struct refine_options : tristar_refine_options {
  refine_options() {
    tristar_refine_options_init_sized(this, sizeof(tristar_refine_options));
  } /* Sets the defaults. */
};
/* tristar_precond_options with its defaults. */
struct precond_options : tristar_precond_options {
  precond_options() {
    tristar_precond_options_init_sized(this, sizeof(tristar_precond_options));
  } /* Sets the defaults. */
};

/* ---- Objects ----------------------------------------------------------------------------------------- */

/* Owns an object of C. */
template <class Object, void (*Destroy)(Object **)> class owner {
public:
  owner() noexcept = default;                                                       /* Nothing. */
  owner(owner &&other) noexcept : object_(std::exchange(other.object_, nullptr)) {} /* Moves. */
  /* Moves: other owns nothing then, and the old object is destroyed. */
  owner &operator=(owner &&other) noexcept {
    owner moved(std::move(other));
    std::swap(object_, moved.object_);
    return *this;
  }
  ~owner() { Destroy(&object_); } /* Destroys the object. */
  /* The object, which the owner keeps. */
  Object *get() const noexcept { return object_; }
  /* Where a function of C puts a new object; the old one is destroyed. */
  Object **put() noexcept {
    Destroy(&object_);
    return &object_;
  }
  /* Whether there is an object. */
  explicit operator bool() const noexcept { return object_ != nullptr; }

private:
  Object *object_ = nullptr;
};

/* A context: the workers and the log. Objects keep it alive. */
class context : public owner<tristar_t, tristar_destroy> {
public:
  /* Creates a context. */
  explicit context(const tristar_config &options = config()) { check(tristar_create(&options, put())); }
};

/* An analysis of a pattern. */
class analysis : public owner<tristar_analysis_t, tristar_analysis_destroy> {
public:
  analysis() noexcept = default; /* Nothing. */
  /* Analyzes a matrix. */
  analysis(const context &ts, const tristar_view &view,
           const tristar_analysis_options &options = analysis_options()) {
    check(tristar_analyze(ts.get(), &view, &options, put()));
  }
};

/* Factors. */
class factor : public owner<tristar_factor_t, tristar_factor_destroy> {
public:
  factor() noexcept = default; /* Nothing. */
  /* Factors values, in the order of the view of the analysis. */
  factor(const analysis &of, const void *values) { check(tristar_factor(of.get(), values, put())); }
  /* Factors new values of the same pattern. */
  void refactor(const void *values) { check(tristar_refactor(get(), values)); }
};

/* A plan: tasks of solves with a factor. */
class plan : public owner<tristar_plan_t, tristar_plan_destroy> {
public:
  plan() noexcept = default; /* Nothing. */
  /* Plans solves. */
  explicit plan(const factor &of, const tristar_plan_options &options = plan_options()) {
    check(tristar_plan(of.get(), &options, put()));
  }
};

/* Analysis, factor and plan of a matrix with entries of type T. Several threads may solve at the same time.
 */
template <class T> class solver {
public:
  solver() noexcept = default; /* Nothing: assign another solver to it. */
  /* Analyzes and factors a matrix, in a context of its own. */
  explicit solver(const matrix_view<T> &matrix, const tristar_analysis_options &options = analysis_options(),
                  const tristar_plan_options &plans = plan_options())
      : solver(context(), matrix, options, plans) {}
  /* Analyzes and factors a matrix. */
  solver(const context &ts, const matrix_view<T> &matrix,
         const tristar_analysis_options &options = analysis_options(),
         const tristar_plan_options &plans = plan_options())
      : rows_(matrix.view.rows), entries_(matrix.size),
        factor_(analysis(ts, matrix.view, options), matrix.view.values), plan_(factor_, plans) {}

  /* Number of rows. */
  std::int64_t rows() const noexcept { return rows_; }
  /* Factors new values, in the order of the view. Throws STALE, ARGUMENT or NOT_POSITIVE_DEFINITE if they
   * need another analysis: make a new solver then. */
  void refactor(span<const T> values) {
    if (values.size() != entries_) throw error(TRISTAR_ERR_ARGUMENT, "another number of values");
    factor_.refactor(values.data());
  }

  /* X = op(A)^-1 B for B in columns: size(b) / rows() right-hand sides. x may be b. */
  void solve(span<const T> b, span<T> x, tristar_op op = TRISTAR_N) const {
    const std::int64_t ld = leading();
    check(tristar_solve(plan_.get(), op, columns(b.size(), x.size()), b.data(), ld, x.data(), ld));
  }
  /* The solution as a new array. */
  std::vector<T> solve(span<const T> b, tristar_op op = TRISTAR_N) const {
    std::vector<T> x(b.size());
    solve(b, x, op);
    return x;
  }
  /* As solve, with iterative refinement. x must not be b. */
  tristar_refine_result solve_refined(span<const T> b, span<T> x, tristar_op op = TRISTAR_N,
                                      const tristar_refine_options &options = refine_options()) const {
    tristar_refine_result result;
    const std::int64_t ld = leading();
    check(tristar_solve_refined(plan_.get(), op, columns(b.size(), x.size()), b.data(), ld, x.data(), ld,
                                &options, &result));
    return result;
  }

  /* Estimate of 1 / condition. */
  double reciprocal_condition() const {
    double result;
    check(tristar_condition(plan_.get(), &result));
    return result;
  }
  /* Determinant. */
  tristar_determinant determinant() const {
    tristar_determinant result;
    check(tristar_factor_get_determinant(factor_.get(), &result));
    return result;
  }
  /* Inertia of a symmetric or Hermitian matrix. */
  tristar_inertia inertia() const {
    tristar_inertia result;
    check(tristar_factor_get_inertia(factor_.get(), &result));
    return result;
  }
  /* Statistics of the factor. */
  tristar_factor_stats statistics() const {
    tristar_factor_stats result;
    check(tristar_factor_get_stats(factor_.get(), &result));
    return result;
  }
  /* The owners, for functions of C. */
  const factor &get_factor() const noexcept { return factor_; }
  const plan &get_plan() const noexcept { return plan_; } /* See get_factor. */

private:
  std::int64_t leading() const noexcept { return rows_ > 0 ? rows_ : 1; }
  std::int64_t columns(std::size_t b, std::size_t x) const {
    const std::int64_t size = static_cast<std::int64_t>(b);
    if (b != x || size % leading() != 0)
      throw error(TRISTAR_ERR_ARGUMENT, "lengths of b and x must be equal multiples of the number of rows");
    return size / leading();
  }

  std::int64_t rows_ = 0;
  std::size_t entries_ = 0;
  factor factor_;
  plan plan_;
};

/* A preconditioner of tristar_precond.h for a matrix with entries of type T. */
template <class T> class preconditioner : public owner<tristar_precond_t, tristar_precond_destroy> {
public:
  /* Makes the preconditioner of a matrix, in a context of its own. */
  explicit preconditioner(const matrix_view<T> &matrix,
                          const tristar_precond_options &options = precond_options())
      : preconditioner(context(), matrix, options) {}
  /* Makes the preconditioner of a matrix. */
  preconditioner(const context &ts, const matrix_view<T> &matrix,
                 const tristar_precond_options &options = precond_options())
      : rows_(matrix.view.rows) {
    check(tristar_precond(ts.get(), &matrix.view, &options, this->put()));
  }
  /* x = op(M)^-1 b for one right-hand side; x may be b. */
  void apply(span<const T> b, span<T> x, tristar_op op = TRISTAR_N) const {
    const std::size_t n = static_cast<std::size_t>(rows_);
    if (b.size() != n || x.size() != n)
      throw error(TRISTAR_ERR_ARGUMENT, "b and x must have an entry for each row");
    const std::int64_t ld = rows_ > 0 ? rows_ : 1;
    check(tristar_precond_apply(this->get(), op, 1, b.data(), ld, x.data(), ld));
  }
  /* Takes new values: the same entries in the same order. */
  void update(const matrix_view<T> &matrix) { check(tristar_precond_update(this->get(), &matrix.view)); }

private:
  std::int64_t rows_;
};

} // namespace tristar

#endif
