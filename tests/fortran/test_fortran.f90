! The module tristar: solves in four kinds, with integers of 32 and 64 bits, new values, refinement, a preconditioner, a
! Krylov method, statistics, options, errors.
module checks
  use tristar
  implicit none
contains
  subroutine check(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    print '(4a)', 'failed: ', what, ': ', tristar_message()
    call end_program(1_c_int)
  end subroutine check

  subroutine end_program(code)
    integer(c_int), value :: code
    interface
      subroutine c_exit(status) bind(C, name="exit")
        import
        integer(c_int), value :: status
      end subroutine c_exit
    end interface
    call c_exit(code)
  end subroutine end_program

  ! Pattern of tridiag(-1, 4, -2) of order n by columns, numbered from 1.
  subroutine places(n, ptr, row)
    integer, intent(in) :: n
    integer(c_int64_t), allocatable, intent(out) :: ptr(:), row(:)
    integer :: j, p
    allocate(ptr(n + 1), row(3 * n - 2))
    p = 1
    do j = 1, n
      ptr(j) = p
      if (j > 1) then
        row(p) = j - 1
        p = p + 1
      end if
      row(p) = j
      p = p + 1
      if (j < n) then
        row(p) = j + 1
        p = p + 1
      end if
    end do
    ptr(n + 1) = p
  end subroutine places

  ! Values of this pattern, and A x for x = (1, 2, 3, 1, 2, 3, ...).
  subroutine values_of(n, ptr, row, value, x, b)
    integer, intent(in) :: n
    integer(c_int64_t), intent(in) :: ptr(:), row(:)
    real(c_double), allocatable, intent(out) :: value(:), x(:), b(:)
    integer :: j
    integer(c_int64_t) :: p
    allocate(value(size(row)), x(n), b(n))
    x = [(1.0_c_double + mod(j - 1, 3), j = 1, n)]
    b = 0
    do j = 1, n
      do p = ptr(j), ptr(j + 1) - 1
        value(p) = merge(4.0_c_double, merge(-1.0_c_double, -2.0_c_double, row(p) > j), row(p) == j)
        b(row(p)) = b(row(p)) + value(p) * x(j)
      end do
    end do
  end subroutine values_of

  subroutine make(ts, view, values, analysis, factor, plan)
    type(c_ptr), intent(in) :: ts
    type(tristar_view), intent(in) :: view
    type(*), intent(in) :: values(*)
    type(c_ptr), intent(out) :: analysis, factor, plan
    analysis = c_null_ptr
    factor = c_null_ptr
    plan = c_null_ptr
    call check(tristar_analyze(ts, view, analysis=analysis) == TRISTAR_OK, 'analyze')
    call check(tristar_factor(analysis, values, factor) == TRISTAR_OK, 'factor')
    call check(tristar_plan(factor, plan=plan) == TRISTAR_OK, 'plan')
  end subroutine make

  subroutine release(analysis, factor, plan)
    type(c_ptr), intent(inout) :: analysis, factor, plan
    call tristar_plan_destroy(plan)
    call tristar_factor_destroy(factor)
    call tristar_analysis_destroy(analysis)
    call check(.not. c_associated(plan), 'destroy')
  end subroutine release
end module checks

program test_fortran
  use checks
  implicit none
  integer, parameter :: n = 40
  integer(c_int) :: status
  type(c_ptr) :: ts = c_null_ptr
  type(tristar_config) :: config
  integer(c_int64_t), allocatable, target :: ptr(:), row(:)
  integer(c_int32_t), allocatable, target :: short_ptr(:), short_row(:)
  real(c_double), allocatable, target :: value(:)
  real(c_double), allocatable :: x(:), b(:)
  call tristar_init(config)
  config%use_starpu = 0
  call check(tristar_create(config, ts) == TRISTAR_OK, 'create')
  call places(n, ptr, row)
  call values_of(n, ptr, row, value, x, b)
  short_ptr = int(ptr, c_int32_t)
  short_row = int(row, c_int32_t)
  call check_double()
  call check_single()
  call check_complex()
  call check_iterative()
  call check_errors()
  call check_same_as_c()
  call tristar_destroy(ts)
  call check(.not. c_associated(ts), 'tristar_destroy')

contains
  ! The same calls in C and in Fortran give the same bits.
  subroutine check_same_as_c()
    integer(c_int64_t), parameter :: size = 20, rows = size**3
    interface
      function short_in_c(size, x, twice, diagonal) bind(C) result(status)
        import
        integer(c_int64_t), value :: size
        real(c_double), intent(inout) :: x(*), twice(*), diagonal(*)
        integer(c_int) :: status
      end function short_in_c
    end interface
    type(c_ptr) :: other, matrix, analysis, factor, plan
    type(tristar_view) :: a
    real(c_double), pointer :: values(:)
    integer(c_int64_t), pointer :: ends(:)
    real(c_double), allocatable :: y(:, :), right(:, :)
    integer :: k
    allocate(y(rows, 3), right(rows, 3), source=0.0_c_double)
    y(1, 1) = 1
    right(1, 1) = 1
    call check(short_in_c(size, right(:, 1), right(:, 2), right(:, 3)) == 0, 'the program in C')
    call check(tristar_create(ts=other) == TRISTAR_OK, 'another context')
    call check(tristar_matrix_generate(other, 'poisson3d7' // c_null_char, size, matrix) == TRISTAR_OK, 'generate')
    call check(tristar_matrix_get_view(matrix, a) == TRISTAR_OK, 'view')
    call c_f_pointer(a%ptr, ends, [rows + 1])
    call c_f_pointer(a%values, values, [ends(rows + 1)])
    call check(tristar_analyze(other, a, analysis=analysis) == TRISTAR_OK, 'analyze')
    call check(tristar_factor(analysis, values, factor) == TRISTAR_OK, 'factor')
    call check(tristar_plan(factor, plan=plan) == TRISTAR_OK, 'plan')
    do k = 1, 10
      call check(tristar_solve(plan, y(:, 1), y(:, 2)) == TRISTAR_OK, 'ten solves')
      y(:, 1) = y(:, 2)
    end do
    call check(tristar_refactor(factor, 2 * values) == TRISTAR_OK, 'new values')
    call check(tristar_solve(plan, y(:, 1), y(:, 2)) == TRISTAR_OK, 'a solve with new values')
    call check(tristar_inverse_diagonal_call(plan, y(:, 3)) == TRISTAR_OK, 'diagonal of the inverse')
    call check(all(y == right), 'the results of C')
    call release(analysis, factor, plan)
    call tristar_matrix_destroy(matrix)
    call tristar_destroy(other)
  end subroutine check_same_as_c

  subroutine check_double()
    type(c_ptr) :: analysis, factor, plan
    real(c_double) :: y(n), two(n, 2), wide(n, 2), reciprocal
    type(tristar_refine_options) :: options
    type(tristar_refine_result) :: result
    type(tristar_factor_stats) :: stats
    type(tristar_determinant) :: determinant
    call make(ts, tristar_view_csc(n, ptr, row, value), value, analysis, factor, plan)
    call check(tristar_solve(plan, b, y) == TRISTAR_OK, 'solve')
    call check(maxval(abs(y - x)) < 1e-13_c_double, 'solve: x')
    call check(tristar_solve(plan, TRISTAR_N, 1_c_int64_t, b, int(n, c_int64_t), y, int(n, c_int64_t)) == TRISTAR_OK, &
               'solve with the arguments of C')
    call check(maxval(abs(y - x)) < 1e-13_c_double, 'solve with the arguments of C: x')
    call check(tristar_refactor(factor, 2 * value) == TRISTAR_OK, 'refactor')
    two(:, 1) = 2 * b
    two(:, 2) = 4 * b
    call check(tristar_solve(plan, two, wide) == TRISTAR_OK, 'two right-hand sides')
    call check(maxval(abs(wide(:, 2) - 2 * x)) < 1e-12_c_double, 'two right-hand sides: x')
    call tristar_init(options)
    options%forward_error = 1
    call check(tristar_solve_refined(plan, TRISTAR_N, 1_c_int64_t, 2 * b, int(n, c_int64_t), y, int(n, c_int64_t), options, &
                                     result) == TRISTAR_OK, 'refined')
    call check(maxval(abs(y - x)) < 1e-14_c_double .and. result%forward_error < 1e-13_c_double, 'refined: x')
    status = tristar_condition(plan, reciprocal)
    call check(status == TRISTAR_OK .and. reciprocal > 0.01_c_double, 'condition')
    status = tristar_factor_get_stats(factor, stats)
    call check(status == TRISTAR_OK .and. stats%nnz_factor >= 3 * n - 2, 'statistics')
    status = tristar_factor_get_determinant(factor, determinant)
    call check(status == TRISTAR_OK .and. determinant%sign(1) > 0, 'determinant')
    call check(tristar_refactor(factor, value) == TRISTAR_OK, 'refactor back')
    status = tristar_solve(plan, b, y, TRISTAR_T)
    call check(status == TRISTAR_OK .and. maxval(abs(y - x)) > 0.1_c_double, 'transposed')
    call release(analysis, factor, plan)
  end subroutine check_double

  subroutine check_single()
    type(c_ptr) :: analysis, factor, plan
    real(c_float) :: y(n)
    real(c_float), target :: values(size(value))
    values = real(value, c_float)
    call make(ts, tristar_view_csc(n, short_ptr, short_row, values), values, analysis, factor, plan)
    status = tristar_solve(plan, real(b, c_float), y)
    call check(status == TRISTAR_OK .and. maxval(abs(y - x)) < 1e-4, 'single')
    call release(analysis, factor, plan)
  end subroutine check_single

  subroutine check_complex()
    type(c_ptr) :: analysis, factor, plan
    complex(c_double_complex), parameter :: i = (0, 1)
    complex(c_double_complex) :: y(n)
    complex(c_float_complex) :: z(n)
    complex(c_double_complex), target :: values(size(value))
    complex(c_float_complex), target :: single(size(value))
    values = i * value
    single = cmplx(values, kind=c_float_complex)
    call make(ts, tristar_view_csc(n, ptr, row, values), values, analysis, factor, plan)
    status = tristar_solve(plan, i * b, y)
    call check(status == TRISTAR_OK .and. maxval(abs(y - x)) < 1e-13_c_double, 'complex')
    call release(analysis, factor, plan)
    call make(ts, tristar_view_csr(n, short_ptr, short_row, single), single, analysis, factor, plan) ! the transpose
    status = tristar_solve(plan, cmplx(i * b, kind=c_float_complex), z, TRISTAR_T)
    call check(status == TRISTAR_OK .and. maxval(abs(z - x)) < 1e-4, 'complex single')
    call release(analysis, factor, plan)
  end subroutine check_complex

  subroutine check_iterative()
    type(c_ptr) :: precond, krylov
    type(tristar_precond_options) :: options
    type(tristar_krylov_options) :: method
    type(tristar_krylov_result) :: result
    real(c_double) :: y(n)
    precond = c_null_ptr
    krylov = c_null_ptr
    call tristar_init(options)
    options%kind = TRISTAR_PRECOND_ILU
    call check(tristar_precond(ts, tristar_view_csc(n, ptr, row, value), options, precond) == TRISTAR_OK, 'precond')
    call tristar_init(method)
    method%method = TRISTAR_KRYLOV_GMRES
    call check(tristar_krylov_create(ts, tristar_view_csc(n, ptr, row, value), method, krylov) == TRISTAR_OK, 'krylov_create')
    call check(tristar_krylov_solve(krylov, precond, 1_c_int64_t, b, int(n, c_int64_t), y, int(n, c_int64_t), result) &
               == TRISTAR_OK, 'krylov_solve')
    call check(result%converged == 1 .and. maxval(abs(y - x)) < 1e-6_c_double, 'krylov_solve: x')
    call tristar_krylov_destroy(krylov)
    call tristar_precond_destroy(precond)
  end subroutine check_iterative

  subroutine check_errors()
    type(c_ptr) :: analysis, factor, plan
    real(c_double) :: y(n), short(n - 1), longer(n + 3), solution(n + 3)
    real(c_float) :: other(n)
    integer(c_int64_t), target :: next(size(row)), none(0), pairs(2, size(row))
    analysis = c_null_ptr
    call check_no_view(tristar_view_csc(n + 1, ptr, row, value), 'ptr is too short')
    call check_no_view(tristar_view_csr(0, none, row, value), 'ptr is empty')
    call check_no_view(tristar_view_csc(n, ptr, row(2:), value), 'row is too short')
    call check_no_view(tristar_view_csc(n, ptr, row, value(:size(row) - 1)), 'value is too short')
    pairs = spread(row, 1, 2)
    call check_no_view(tristar_view_csc(n, ptr, pairs(1, :), value), 'row has gaps')
    call check_no_view(tristar_view_csr(n, ptr, row, value(size(row):1:-1)), 'value is reversed')
    next = row + 1
    call check(tristar_analyze(ts, tristar_view_csc(n, ptr, next, value), analysis=analysis) == TRISTAR_ERR_FORMAT, 'format')
    call check(len(tristar_message()) > 10, 'message')
    call make(ts, tristar_view_csc(n, ptr, row, value), value, analysis, factor, plan)
    call check(tristar_solve(plan, short, short) == TRISTAR_ERR_ARGUMENT, 'too short')
    call check(tristar_solve(plan, b, short) == TRISTAR_ERR_ARGUMENT, 'two lengths')
    call check(tristar_solve(plan, b, solution) == TRISTAR_ERR_ARGUMENT, 'a longer x')
    longer = 7
    longer(1:n) = b
    solution = 8
    call check(tristar_solve(plan, longer, solution) == TRISTAR_OK, 'more rows than the matrix')
    call check(maxval(abs(solution(1:n) - x)) < 1e-9_c_double .and. all(solution(n + 1:) == 8), 'ignored rows')
    call check(tristar_solve(plan, other, other) == TRISTAR_ERR_ARGUMENT, 'another kind')
    call check(tristar_refactor(factor, 0 * value) == TRISTAR_ERR_SINGULAR, 'singular')
    call check(tristar_solve(plan, b, y) == TRISTAR_ERR_STALE, 'stale')
    call release(analysis, factor, plan)
  end subroutine check_errors

  ! The view has no arrays, so an analysis of it fails.
  subroutine check_no_view(view, what)
    type(tristar_view), intent(in) :: view
    character(len=*), intent(in) :: what
    type(c_ptr) :: analysis
    analysis = c_null_ptr
    call check(tristar_analyze(ts, view, analysis=analysis) == TRISTAR_ERR_ARGUMENT, what)
    call check(index(tristar_message(), 'ptr is NULL') > 0, what)
  end subroutine check_no_view
end program test_fortran
