! Fortran: A^-1 applied ten times to a vector, as in example_short.c, then new values of the same pattern.
program example_fortran
  use tristar
  implicit none
  type(c_ptr) :: ts = c_null_ptr, matrix = c_null_ptr, analysis = c_null_ptr, factor = c_null_ptr, plan = c_null_ptr
  type(tristar_view) :: a
  real(c_double), pointer :: values(:)
  real(c_double), allocatable :: x(:)
  integer :: k
  if (failed(tristar_create(ts=ts))) error stop
  if (failed(tristar_matrix_generate(ts, 'poisson3d7' // c_null_char, 20_c_int64_t, matrix))) error stop
  if (failed(tristar_matrix_get_view(matrix, a))) error stop      ! or tristar_view_csc of arrays
  if (failed(tristar_analyze(ts, a, analysis=analysis))) error stop ! once per pattern
  call c_f_pointer(a%values, values, [entries(a)])
  if (failed(tristar_factor(analysis, values, factor))) error stop  ! once per set of values
  if (failed(tristar_plan(factor, plan=plan))) error stop
  allocate(x(a%rows), source=0.0_c_double)
  x(1) = 1
  do k = 1, 10 ! again and again
    x = solution(x)
  end do
  print '(a, es14.6)', 'x(1) after 10 solves: ', x(1)
  if (failed(tristar_refactor(factor, 2 * values))) error stop
  x = solution(x)
  print '(a, es14.6)', 'x(1) after a solve with 2 A: ', x(1)
  if (failed(tristar_inverse_diagonal_call(plan, x))) error stop
  print '(a, es14.6)', 'trace of (2 A)^-1: ', sum(x)
  call tristar_plan_destroy(plan)
  call tristar_factor_destroy(factor)
  call tristar_analysis_destroy(analysis)
  call tristar_matrix_destroy(matrix)
  call tristar_destroy(ts)
contains
  logical function failed(status)
    integer(c_int), intent(in) :: status
    failed = status /= TRISTAR_OK
    if (failed) print '(a)', tristar_message()
  end function failed

  function solution(b)
    real(c_double), intent(in) :: b(:)
    real(c_double) :: solution(size(b)), y(size(b))
    if (failed(tristar_solve(plan, b, y))) error stop
    solution = y
  end function solution

  integer(c_int64_t) function entries(view)
    type(tristar_view), intent(in) :: view
    integer(c_int64_t), pointer :: ptr(:)
    call c_f_pointer(view%ptr, ptr, [view%cols + 1])
    entries = ptr(view%cols + 1) - ptr(1)
  end function entries
end program example_fortran
