"""The library, its errors, contexts, and long calls that Ctrl-C interrupts."""
import _thread
import os
import threading

import numpy as np

from ._bindings import ffi
from ._place import LIBRARY, SONAME

NULL = ffi.NULL


# ---- The library -------------------------------------------------------------------------------------------


def load_library():
    """Opens the library of this build, or the one that the dynamic loader finds under the same soname."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), LIBRARY)
    return ffi.dlopen(path if os.path.exists(path) else SONAME)


lib = load_library()
__version__ = ffi.string(lib.tristar_version()).decode()
if __version__.split(".")[:2] != [str(lib.TRISTAR_VERSION_MAJOR), str(lib.TRISTAR_VERSION_MINOR)]:
    raise ImportError(f"the library has version {__version__}, the package another one")


# ---- Errors ------------------------------------------------------------------------------------------------


class Error(RuntimeError):
    """A call of the library failed. `status` is the name of its status."""

    status = "TRISTAR_ERR_RUNTIME"


class ArgumentError(Error, ValueError):
    """An argument is invalid."""


class OutOfMemoryError(Error, MemoryError):
    """An allocation failed."""


class TooLargeError(Error, OverflowError):
    """A size exceeds the integers of the library."""


class FileError(Error, OSError):
    """A file cannot be opened, read or written."""


class FormatError(Error, ValueError):
    """A matrix or a file is malformed."""


class UnsupportedError(Error):
    """A valid request that this build or version does not support."""


class ForkError(UnsupportedError):
    """The object was made before fork(), and cannot be made again in this process."""


class SingularError(Error, np.linalg.LinAlgError):
    """The matrix is singular, structurally or to working precision."""


class NotPositiveDefiniteError(Error, np.linalg.LinAlgError):
    """Cholesky found a pivot that is not positive."""


class NotFiniteError(Error, ValueError):
    """The input, the factors or the result contain NaN or infinity."""


class StaleError(Error):
    """The factor has no values, or the new values need another analysis."""


class BusyError(Error):
    """Another call uses the object."""


class CancelledError(Error):
    """A callback cancelled the call."""


ERRORS = {
    "ARGUMENT": ArgumentError,
    "MEMORY": OutOfMemoryError,
    "TOO_LARGE": TooLargeError,
    "IO": FileError,
    "FORMAT": FormatError,
    "UNSUPPORTED": UnsupportedError,
    "RECTANGULAR": ArgumentError,
    "SINGULAR": SingularError,
    "NOT_POSITIVE_DEFINITE": NotPositiveDefiniteError,
    "NOT_FINITE": NotFiniteError,
    "STALE": StaleError,
    "BUSY": BusyError,
    "CANCELLED": CancelledError,
}
for _name, _kind in ERRORS.items():
    if "status" not in vars(_kind):
        _kind.status = "TRISTAR_ERR_" + _name


def message():
    """The message of the latest failed call of this thread."""
    text = ffi.new("char[]", 1024)
    lib.tristar_get_error(NULL, text, 1024)
    return ffi.string(text).decode(errors="replace")


def error(status, text):
    """The exception of a status."""
    name = ffi.string(lib.tristar_status_name(status)).decode()
    exception = ERRORS.get(name[len("TRISTAR_ERR_"):], Error)(text)
    exception.status = name
    return exception


def check(status):
    """Raises the exception of a status that is not OK."""
    if status:
        raise error(status, message())


# ---- Options -----------------------------------------------------------------------------------------------


def words_of(enum):
    """The words of an enumeration: {"auto": 0, ...}, its names without their common beginning."""
    names = enum.relements
    start = os.path.commonprefix(list(names)).rfind("_") + 1
    return {name[start:].lower(): value for name, value in names.items()}


def word(enum, value):
    """The word of a value of an enumeration."""
    return next((name for name, number in words_of(enum).items() if number == value), str(value))


def set_option(options, name, value, field):
    """Sets a field of an options struct. Returns what must stay alive as long as the struct is used."""
    if field.type.kind == "enum" and isinstance(value, str):
        words = words_of(field.type)
        if value.lower() not in words:
            raise ValueError(f"{name}={value!r}: must be one of {', '.join(words)}")
        value = words[value.lower()]
    elif isinstance(value, str):
        value = ffi.new("char[]", value.encode())
    elif isinstance(value, (bool, np.bool_)):
        value = int(value)
    setattr(options, name, value)
    return value


def make_options(name, values):
    """A struct tristar_NAME with its defaults, then `values`. Returns (struct, what must stay alive)."""
    options = ffi.new(f"tristar_{name} *")
    getattr(lib, f"tristar_{name}_init_sized")(options, ffi.sizeof(options[0]))
    fields = dict(ffi.typeof(f"tristar_{name}").fields)
    kept = []
    for key, value in values.items():
        if key == "size" or key not in fields:
            raise TypeError(f"unknown option {key!r}; there are {', '.join(f for f in fields if f != 'size')}")
        kept.append(set_option(options, key, value, fields[key]))
    return options, kept


# ---- Objects -----------------------------------------------------------------------------------------------


def new_cell(kind):
    """A pointer to an object of the library, which is destroyed with the pointer."""
    name = "tristar_" + kind if kind else "tristar"
    return ffi.gc(ffi.new(f"{name}_t **"), getattr(lib, name + "_destroy"))


class Context:
    """Workers and log that objects share. The functions of the package use `default_context()` unless they get one.

    Options are the fields of `tristar_config` in tristar.h, such as `workers`, `use_starpu`, `scheduler`. `log` is a function of a
    level ("error" to "debug") and a text; threads of the library may call it.
    """

    def __init__(self, log=None, **options):
        # StarPU prints warnings to the terminal unless this variable is set.
        os.environ.setdefault("STARPU_SILENT", "1")
        config, kept = make_options("config", options)
        self._log = None
        if log is not None:
            levels = ffi.typeof("tristar_log_level")
            self._log = ffi.callback(
                "tristar_log_fn", lambda arg, level, text: log(word(levels, level), ffi.string(text).decode()))
            config.log = self._log
        self._prepare(config)
        self._cell = new_cell("")
        self.generation = generation()
        check(lib.tristar_create(config, self._cell))
        del kept

    def _prepare(self, config):
        """Called with the options of the context before it is made."""

    @property
    def handle(self):
        """The context of C."""
        return self._cell[0]

    def memory(self):
        """Memory of the context and its objects: a report with `current_bytes`, `peak_bytes`, `allocations`."""
        from .reports import Report

        stats = ffi.new("tristar_memory_stats *")
        check(lib.tristar_get_memory(self.handle, stats))
        return Report("Memory", stats)

    def limit_memory(self, size):
        """Limits the memory of the context to `size` bytes; 0: no limit. Calls that would exceed it raise OutOfMemoryError, factorizations
        before they start. See `forecast`."""
        check(lib.tristar_limit_memory(self.handle, size))

    def follow(self, function):
        """Calls function(phase, share) while the context analyzes, factors, plans, solves or reads files; None: stops these calls.

        phase: "analysis", "factor", "plan", "solve" or "read"; share: from 0 to 1. A true result cancels the call, which raises
        CancelledError; so does an exception of the function, which is printed. Threads of the library call the function, at most ten times a
        second. While a function is set, only one thread may use the context.
        """
        followed = NULL
        if function is not None:
            phases = ffi.typeof("tristar_phase")
            followed = ffi.callback(
                "tristar_progress_fn", lambda _, point: bool(function(word(phases, point.phase), point.share)), error=1)
        check(lib.tristar_set_progress(self.handle, followed, NULL))
        self._followed = followed  # until now the previous function may have been called


class _Process:
    """State of a process. A child of fork() starts with a new one."""

    generation = 0
    context = None
    lock = threading.Lock()

    @classmethod
    def renew(cls):
        cls.generation += 1
        cls.context = None
        cls.lock = threading.Lock()


os.register_at_fork(after_in_child=_Process.renew)


def generation():
    """Number of fork() calls between the import of the package and this process."""
    return _Process.generation


def default_context():
    """The context of the process, created at first use. A child of fork() gets a new one."""
    if _Process.context is None:
        with _Process.lock:
            if _Process.context is None:
                _Process.context = Context()
    return _Process.context


def set_default_context(context):
    """Sets the context that later calls use. None: a new one with defaults at the next use."""
    _Process.context = context


def usable(context):
    """`context`, or the default one if it is None or was made before fork()."""
    return default_context() if context is None or context.generation != generation() else context


# ---- Long calls --------------------------------------------------------------------------------------------


def call_interruptibly(function, *arguments, on_interrupt=None):
    """Raises what `check(function(*arguments))` raises, and KeyboardInterrupt at once.

    If this is the main thread, another thread makes the call. After Ctrl-C that thread ends the call and drops its result; the arguments
    live until then. `on_interrupt` may shorten the call.
    """
    if threading.current_thread() is not threading.main_thread():
        check(function(*arguments))
        return
    done = _thread.allocate_lock()
    done.acquire()
    outcome = []

    def work():
        try:
            status = function(*arguments)
            outcome.append(error(status, message()) if status else None)
        except BaseException as exception:  # pylint: disable=broad-except
            outcome.append(exception)
        finally:
            done.release()

    _thread.start_new_thread(work, ())
    try:
        done.acquire()
    except BaseException:
        if on_interrupt is not None:
            on_interrupt()
        raise
    if outcome[0] is not None:
        raise outcome[0]
