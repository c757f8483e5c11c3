"""Generates the Fortran module `tristar` from the declarations of the public headers.

Enumerators become integer parameters, structures derived types, functions interfaces with the names and the arguments of C.
Arguments `void *` accept arrays of any kind. Arguments that may be NULL are optional. GENERICS has names that C lacks.
"""
import re

NUMBERS = {"int": "integer(c_int)", "unsigned": "integer(c_int)", "int32_t": "integer(c_int32_t)",
           "int64_t": "integer(c_int64_t)", "size_t": "integer(c_size_t)", "MPI_Fint": "integer(c_int)", "double": "real(c_double)", "float": "real(c_float)"}
# Arguments of the type T * that are arrays; others are one T.
ARRAYS = {"row_order", "column_order", "row_scale", "column_scale", "row", "all"}
KINDS = {"s": "real(c_float)", "d": "real(c_double)", "c": "complex(c_float_complex)", "z": "complex(c_double_complex)"}
SCALARS = {"s": "TRISTAR_SINGLE", "d": "TRISTAR_DOUBLE", "c": "TRISTAR_COMPLEX_SINGLE", "z": "TRISTAR_COMPLEX_DOUBLE"}

HEAD = """! TriStar from Fortran, made of the public headers, which are the manual of all functions and types.
!
!   call tristar_init(options)                        defaults of an options structure
!   view = tristar_view_csc(n, ptr, index, values)    a view of arrays with the attribute target; also tristar_view_csr
!   status = tristar_solve(plan, b, x [, op])         b and x: vectors or matrices of four kinds
!   text = tristar_message()                          the message of the latest failure
!
! A function with the name of a constant ends in _call: tristar_inverse_diagonal_call.
! Objects are of type(c_ptr), and c_null_ptr before they are made. Nothing ends the program: functions return a status.
module tristar
  use, intrinsic :: iso_c_binding
  implicit none
  public
"""


MPI_HEAD = """! TriStar on many processes from Fortran, made of tristar_mpi.h and tristar_dmatrix_mpi.h, which are the manual.
!
! comm is an integer: of the modules mpi and mpif.h, or the component mpi_val of a communicator of mpi_f08. What a rank does not
! pass is c_null_ptr (objects of rank 0) or left out (vectors without rows).
module tristar_mpi
  use tristar
  implicit none
  public
"""


class Declarations:
    """The declarations in a text of make_bindings; types may also be those of `base`."""

    def __init__(self, text, base=None):
        self.constants = re.findall(r"^#define (\w+) (-?\d+)$", text, re.M)
        text = re.sub(r"^#.*$", "", text, flags=re.M)
        self.enums = re.findall(r"typedef enum (\w+) \{(.*?)\} \w+;", text, re.S)
        self.structs = re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", text, re.S)
        self.callbacks = re.findall(r"typedef [^;{}]*\(\*(\w+)\)\([^;]*;", text)
        text = re.sub(r"typedef (?:enum|struct) \w+ \{.*?\} \w+;|typedef [^;{]*;|^struct \w+;", "", text, flags=re.S | re.M)
        self.functions = [(" ".join(result.split()), name, " ".join(arguments.split()))
                          for result, name, arguments in re.findall(r"([\w\s]+?[\s*]+)(\w+)\(([^)]*)\);", text)]
        missed = set(re.findall(r"\b(tristar_\w+)\s*\(", text)) - {name for _, name, _ in self.functions}
        if missed:
            raise SystemExit(f"fortran_module: declarations that were not understood: {', '.join(sorted(missed))}")
        self.enum_names = {name for name, _ in self.enums}
        self.struct_names = {name for _, name in self.structs}
        self.own_structs = sorted(self.struct_names)
        if base is not None:
            self.enum_names |= base.enum_names
            self.struct_names |= base.struct_names
            self.callbacks += base.callbacks
        self.constant_names = {name.lower() for name, _ in self.constants + [pair for _, body in self.enums for pair in enumerators(body)]}

    def value_type(self, name):
        """The Fortran type of the C type `name`, which is not a pointer."""
        name = re.sub(r"^(struct|enum|const) ", "", name)
        if name in self.enum_names:
            return "integer(c_int)"
        if name in self.callbacks:
            return "type(c_funptr)"
        if name in self.struct_names:
            return f"type({name})"
        return NUMBERS[name]

    def argument(self, text):
        """Name and declaration of an argument."""
        const = text.startswith("const ")
        kind, stars, name = re.fullmatch(r"(?:const )?(?:struct |enum )?(\w+) ?(\**)(\w+)", text).groups()
        intent = "intent(in)" if const else "intent(inout)"
        if not stars:
            return name, f"{self.value_type(kind)}, value :: {name}"
        if stars == "**" or kind in self.struct_names | set(NUMBERS) | self.enum_names | {"void", "char"}:
            if stars == "**":
                return name, f"type(c_ptr), intent(inout), optional :: {name}"
            if kind == "void":
                return name, f"type(*), {intent}, optional :: {name}(*)"
            if kind == "char":
                return name, f"character(kind=c_char), {intent}, optional :: {name}(*)"
            shape = "(*)" if name in ARRAYS or (const and kind in NUMBERS) else ""
            return name, f"{self.value_type(kind)}, {intent}, optional :: {name}{shape}"
        return name, f"type(c_ptr), value :: {name}"


def enumerators(body):
    """Pairs of name and value."""
    value, pairs = -1, []
    for item in body.split(","):
        if not item.strip():
            continue
        name, _, text = (part.strip() for part in item.partition("="))
        value = value + 1 if not text else ord(text[1]) if text[0] == "'" else int(text)
        pairs.append((name, value))
    return pairs


def wrapped(text):
    """Breaks a statement into lines of at most 120 characters."""
    lines, indent = [], " " * (len(text) - len(text.lstrip()))
    while len(text) > 120:
        cut = text.rindex(" ", 0, 116)
        lines.append(text[:cut] + " &")
        text = indent + "    " + text[cut + 1:]
    return "\n".join(lines + [text])


def derived_type(declarations, body, name):
    lines = [f"  type, bind(C) :: {name}"]
    for field in body.split(";"):
        field = " ".join(re.sub(r"\bconst\b", "", field).split())
        if not field:
            continue
        base, rest = re.match(r"(?:struct )?(\w+) ?(.*)", field).groups()
        for item in rest.split(","):
            stars, member, size = re.fullmatch(r"((?:\* ?)*)(\w+)(?:\[(\d+)\])?", item.strip()).groups()
            if stars:
                kind, start = "type(c_ptr)", " = c_null_ptr"
            elif base == "char":
                kind, start = "character(kind=c_char)", ""
            else:
                kind, start = declarations.value_type(base), ""
            if kind == "type(c_funptr)":
                start = " = c_null_funptr"
            lines.append(f"    {kind} :: {member}{f'({size})' if size else ''}{start}")
    return "\n".join(lines + [f"  end type {name}"])


def interface(declarations, result, name, arguments):
    """The interface of a function; void ones are subroutines. Fortran ignores case: a function with the name of a constant gets
    another one."""
    bound = "bind(C)"
    if name in declarations.constant_names:
        bound, name = f'bind(C, name="{name}")', f"{name}_call"
    elif "MPI_Fint" in arguments:
        bound, name = f'bind(C, name="{name}")', name.removesuffix("_f")
    parsed = [] if arguments in ("", "void") else [declarations.argument(text.strip()) for text in arguments.split(",")]
    names = ", ".join(argument for argument, _ in parsed)
    what = "subroutine" if result == "void" else "function"
    lines = [f"    {what} {name}({names}) {bound}" + (" result(result_)" if what == "function" else ""), "      import"]
    lines += [f"      {text}" for _, text in parsed]
    if what == "function":
        kind = "type(c_ptr)" if result.endswith("*") else declarations.value_type(result)
        lines.append(f"      {kind} :: result_")
    return "\n".join(wrapped(line) for line in lines + [f"    end {what} {name}"])


def init(name):
    return f"""  subroutine init_{name}(options)
    type({name}), intent(inout) :: options
    call {name}_init_sized(options, c_sizeof(options))
  end subroutine init_{name}"""


def view(form, kind, bits):
    return f"""  function {form}_{kind}{bits}(n, ptr, index, values, symmetry) result(view)
    integer, intent(in) :: n
    integer(c_int{bits}_t), intent(in), target :: ptr(:), index(:)
    {KINDS[kind]}, intent(in), target :: values(:)
    integer, intent(in), optional :: symmetry
    type(tristar_view) :: view
    view = view_of(TRISTAR_{form.upper()}, {SCALARS[kind]}, n, {bits}, symmetry)
    ! Without arrays functions return ARGUMENT. A section with gaps has no address; C does not see how long arrays are.
    if (.not. (is_contiguous(ptr) .and. is_contiguous(index) .and. is_contiguous(values))) return
    if (size(ptr, kind=c_int64_t) <= max(n, 0)) return
    if (min(size(index, kind=c_int64_t), size(values, kind=c_int64_t)) < int(ptr(max(n, 0) + 1), c_int64_t) - ptr(1)) return
    view%base = int(ptr(1), c_int)
    view%ptr = c_loc(ptr)
    view%index = c_loc(index)
    view%values = c_loc(values)
  end function {form}_{kind}{bits}"""


def solve(kind, rank):
    shape, columns = (":", "1_c_int64_t") if rank == 1 else (":, :", "size(b, 2, c_int64_t)")
    return f"""  function solve_{kind}{rank}(plan, b, x, op) result(status)
    type(c_ptr), intent(in) :: plan
    {KINDS[kind]}, intent(in), contiguous :: b({shape})
    {KINDS[kind]}, intent(inout), contiguous :: x({shape})
    integer, intent(in), optional :: op
    integer(c_int) :: status
    integer(c_int) :: which
    which = TRISTAR_N
    if (present(op)) which = int(op, c_int)
    status = TRISTAR_ERR_ARGUMENT
    if (any(shape(b) /= shape(x))) return
    status = tristar_plan_check_scalar(plan, {SCALARS[kind]})
    if (status /= TRISTAR_OK) return
    status = tristar_solve_c(plan, which, {columns}, b, size(b, 1, c_int64_t), x, size(x, 1, c_int64_t))
  end function solve_{kind}{rank}"""


HELPERS = """  ! A view without arrays.
  function view_of(form, scalar, n, bits, symmetry) result(view)
    integer, intent(in) :: form, scalar, n, bits
    integer, intent(in), optional :: symmetry
    type(tristar_view) :: view
    call tristar_view_init(view)
    view%format = form
    view%scalar = scalar
    if (present(symmetry)) view%symmetry = symmetry
    view%rows = n
    view%cols = n
    view%ptr_bits = bits
    view%index_bits = bits
  end function view_of

  ! The message of the latest failed call of this thread.
  function tristar_message() result(text)
    character(len=:), allocatable :: text
    character(kind=c_char) :: buffer(2000)
    integer :: length, k
    length = int(min(tristar_get_error(c_null_ptr, buffer, 2000_c_size_t), 1999_c_size_t))
    allocate(character(len=length) :: text)
    do k = 1, length
      text(k:k) = buffer(k)
    end do
  end function tristar_message"""


def options_of(d):
    """The structures of options that the text declares."""
    return [name for name in d.own_structs if any(f"{name}_init_sized" == f[1] for f in d.functions)]


def types_of(d):
    """Constants and derived types."""
    parts = [f"  integer(c_int), parameter :: {name} = {value}" for name, value in d.constants]
    for _, body in d.enums:
        parts += [f"  integer(c_int), parameter :: {name} = {value}" for name, value in enumerators(body)]
    return parts + [derived_type(d, body, name) for body, name in d.structs]


def initializers(options):
    """The generic tristar_init."""
    return ["  interface tristar_init", wrapped("    module procedure " + ", ".join(f"init_{name}" for name in options)), "  end interface"]


def fortran_mpi_module(text, base):
    """The source of the module for the declarations of C that need MPI; base: those of the module tristar."""
    d = Declarations(text, Declarations(base))
    options = options_of(d)
    functions = [f for f in d.functions if "MPI_Comm" not in f[2]]
    parts = [MPI_HEAD] + types_of(d) + ["  interface"] + [interface(d, *f) for f in functions] + ["  end interface"]
    parts += initializers(options) + [wrapped("  private :: " + ", ".join(f"init_{name}" for name in options)), "contains"]
    return "\n".join(parts + [init(name) for name in options] + ["end module tristar_mpi", ""])


def fortran_module(text):
    """The source of the module for the declarations of C."""
    d = Declarations(text)
    options = options_of(d)
    views = [(form, kind, bits) for form in ("csc", "csr") for kind in KINDS for bits in (32, 64)]
    solves = [(kind, rank) for kind in KINDS for rank in (1, 2)]
    parts = [HEAD] + types_of(d)
    parts += ["  interface"] + [interface(d, *f) for f in d.functions if f[1] != "tristar_solve"] + ["  end interface"]
    (plain,) = (f for f in d.functions if f[1] == "tristar_solve")
    body = interface(d, *plain).replace("tristar_solve(", "tristar_solve_c(").replace(" bind(C)", ' bind(C, name="tristar_solve")')
    parts += ["  interface tristar_solve", body.replace("end function tristar_solve", "end function tristar_solve_c"),
              "    module procedure " + ", ".join(f"solve_{k}{r}" for k, r in solves), "  end interface"]
    parts += initializers(options)
    for form in ("csc", "csr"):
        parts += [f"  interface tristar_view_{form}", "    module procedure " + ", ".join(f"{f}_{k}{b}" for f, k, b in views if f == form), "  end interface"]
    private = [f"init_{name}" for name in options] + [f"{f}_{k}{b}" for f, k, b in views] + [f"solve_{k}{r}" for k, r in solves]
    parts += [wrapped(f"  private :: {', '.join(['view_of'] + private)}"), "contains", HELPERS]
    parts += [init(name) for name in options] + [view(*v) for v in views] + [solve(*s) for s in solves]
    return "\n".join(parts + ["end module tristar", ""])
