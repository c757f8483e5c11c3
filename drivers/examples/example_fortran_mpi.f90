! Fortran on many processes: each rank has its rows of the Laplacian of a square. All ranks factor it and solve ten times; then
! a Krylov method uses the same matrix.
program example_fortran_mpi
  use mpi
  use tristar_mpi
  implicit none
  integer, parameter :: k = 40, n = k * k
  type(c_ptr) :: ts = c_null_ptr, matrix = c_null_ptr, factor = c_null_ptr, krylov = c_null_ptr
  type(tristar_config) :: config
  type(tristar_distributed_options) :: options
  type(tristar_krylov_options) :: krylov_options
  type(tristar_view) :: view
  type(tristar_distributed_stats), allocatable :: stats(:)
  integer(c_int32_t), allocatable, target :: ptr(:), column(:)
  real(c_double), allocatable, target :: values(:)
  real(c_double), allocatable :: b(:), x(:), r(:)
  integer :: provided, rank, ranks, first, rows, step, ierror
  call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided, ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  first = rank * n / ranks
  rows = (rank + 1) * n / ranks - first
  call laplacian()
  call tristar_init(config)
  call check(tristar_mpi_share_cores(MPI_COMM_WORLD, config)) ! each rank has its part of the cores
  call check(tristar_create(config, ts))
  view = tristar_view_csr(rows, ptr, column, values)
  view%cols = n
  call check(tristar_dmatrix_create(ts, MPI_COMM_WORLD, view, matrix=matrix))

  call tristar_init(options)
  options%layout%px = 0 ! rank 0 chooses a layout
  call check(tristar_dmatrix_factor(matrix, options=options, out=factor))
  allocate(b(rows), x(rows), r(rows), stats(ranks))
  b = 1
  do step = 1, 10 ! again and again, with the rows of this rank
    call check(tristar_distributed_solve(factor, TRISTAR_N, 1_c_int64_t, b, int(rows, c_int64_t), x, int(rows, c_int64_t)))
  end do
  call report('solve')
  call check(tristar_distributed_gather_stats(factor, stats))
  if (rank == 0) print '(a, i0, a)', 'factor: ', sum(nint(stats%factor_bytes)), ' bytes on all ranks'

  call tristar_init(krylov_options)
  krylov_options%tolerance = 1e-12_c_double
  call check(tristar_dmatrix_krylov(matrix, krylov_options, krylov))
  x = 0
  call check(tristar_krylov_solve(krylov, c_null_ptr, 1_c_int64_t, b, int(rows, c_int64_t), x, int(rows, c_int64_t)))
  call report('Krylov method')

  call tristar_krylov_destroy(krylov)
  call tristar_distributed_destroy(factor)
  call tristar_dmatrix_destroy(matrix)
  call tristar_destroy(ts)
  call MPI_Finalize(ierror)
contains
  ! Rows first + 1 .. first + rows of the five-point Laplacian, numbered from 1.
  subroutine laplacian()
    integer :: i, j, cell, side, p, x_cell, y_cell, to_x, to_y
    integer, parameter :: dx(5) = [0, -1, 0, 1, 0], dy(5) = [-1, 0, 0, 0, 1]
    allocate(ptr(rows + 1), column(5 * rows), values(5 * rows))
    p = 1
    do i = 1, rows
      ptr(i) = p
      cell = first + i - 1
      x_cell = mod(cell, k)
      y_cell = cell / k
      do side = 1, 5
        to_x = x_cell + dx(side)
        to_y = y_cell + dy(side)
        if (min(to_x, to_y) < 0 .or. max(to_x, to_y) >= k) cycle
        j = to_y * k + to_x
        column(p) = j + 1
        values(p) = merge(4, -1, side == 3)
        p = p + 1
      end do
    end do
    ptr(rows + 1) = p
  end subroutine laplacian

  ! The largest entry of b - A x on all ranks.
  subroutine report(what)
    character(len=*), intent(in) :: what
    real(c_double) :: mine, largest
    r = 0
    call check(tristar_dmatrix_multiply(matrix, TRISTAR_N, 1_c_int64_t, x=x, ldx=int(rows, c_int64_t), y=r, &
                                        ldy=int(rows, c_int64_t)))
    mine = maxval(abs(b - r))
    call MPI_Allreduce(mine, largest, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierror)
    if (rank == 0) print '(2a, es9.2)', what, ': largest residual ', largest
    if (largest > 1e-6) call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
  end subroutine report

  ! All ranks have the same status.
  subroutine check(status)
    integer(c_int), intent(in) :: status
    if (status == TRISTAR_OK) return
    print '(a, i0, 2a)', 'rank ', rank, ': ', tristar_message()
    call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
  end subroutine check
end program example_fortran_mpi
