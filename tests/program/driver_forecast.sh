#!/usr/bin/env bash
# driver_forecast.sh PROGRAM: forecasts of tristar info; a memory limit; Ctrl-C. Works in the current folder.
tristar=$1
failed=0

fail() {
  echo "driver_forecast: $*"
  failed=1
}

# expect STATUS REGEX ARGUMENT...
expect() {
  local wanted=$1 regex=$2
  shift 2
  "$tristar" "$@" >output.txt 2>&1 </dev/null
  local status=$?
  [ $status -eq "$wanted" ] && grep -qE -e "$regex" output.txt && return
  fail "tristar $*: status $status, not $wanted, or no '$regex'"
  cat output.txt
}

expect 0 '^forecast +[0-9.]+ MB at the peak' info gen:poisson3d7:16 --forecast
grep -q '^factor' output.txt && fail "--forecast factors"
expect 0 '"forecast_bytes":' info gen:poisson3d7:16 --forecast --json -
expect 0 '"forecast_s":' info gen:poisson3d7:16 --engine serial --json -
python3 - <<'P' || fail "the forecast is not the peak"
import json
found = json.load(open("output.txt"))
raise SystemExit(found["forecast_bytes"] != found["peak_after_analysis_bytes"])
P
for layout in '' '--layout 2x1x2'; do
  expect 0 '"search_peak_bytes":[[:space:]]+[1-9]' info gen:convdiff3d:8 $layout --forecast --pivoting delayed --json -
  expect 0 '"search_peak_bytes":[[:space:]]+0' info gen:convdiff3d:8 $layout --forecast --json -
  expect 0 'search of delayed pivots: [1-9][0-9.]+ [KM]B' info gen:convdiff3d:8 $layout --forecast --pivoting delayed
  expect 0 forecast info gen:convdiff3d:8 $layout --forecast
  grep -q 'delayed pivots' output.txt && fail "--forecast $layout: a search without --pivoting delayed"
done
expect 1 'needs? .*limit of 4194304 bytes \(--memory-limit\)|exceed the limit of 4194304 bytes \(--memory-limit\)' solve gen:poisson3d7:16 --memory-limit 4M
expect 0 '^accuracy' solve gen:poisson3d7:16 --memory-limit 1.5G
expect 0 '^forecast' solve gen:poisson3d7:16 --memory-limit 0.001T
# A triangle is not factored, nor is its factorization forecast. This one would fill up.
awk 'BEGIN {
  n = 20000
  print "%%MatrixMarket matrix coordinate real general\n" n, n, 3 * n - 3
  for (i = 1; i <= n; i++) {
    print i, i, 4
    if (i > 2) print i, 1 + i * 7919 % (i - 2), 0.5
    if (i > 1) print i, i - 1, 0.25
  }
}' >triangle.mtx
for command in info solve trisolve; do
  expect 0 '^lower +' $command triangle.mtx --memory-limit 16M
  expect 1 'exceed the limit of 2097152 bytes \(--memory-limit\)' $command triangle.mtx --memory-limit 2M
done
expect 2 'suffix' solve gen:poisson3d7:16 --memory-limit 4X
expect 2 'too few' solve gen:poisson3d7:16 --memory-limit 0

# Ctrl-C after a while: the program ends with its own message, at least once, within a second of each core. The seconds are those
# of the processor: beside other processes the same work takes longer by the clock.
python3 - "$tristar" <<'P' || fail "Ctrl-C does not end the program"
import glob, os, resource, signal, subprocess, sys, time

def seconds(pid):
    """Processor time of a process so far, user and system, with that of its children (of the ordering), which may end."""
    try:
        fields = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()
        children = [open(path).read().split() for path in glob.glob(f"/proc/{pid}/task/*/children")]
    except OSError:
        return 0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK") + sum(map(seconds, sum(children, [])))

def ended_seconds():
    """Processor time of all children that have ended, with that of theirs."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime

signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell's background job ignores it, and so would its children
interrupted = 0
for after in 0.2, 0.4, 0.6, 0.8, 1, 1.5, 2, 3:
    with open("output.txt", "w+") as output:
        process = subprocess.Popen([sys.argv[1], "solve", "gen:poisson3d7:56", "--verbose"], stdin=subprocess.DEVNULL,
                                   stdout=output, stderr=subprocess.STDOUT)
        time.sleep(after)
        before, ended = seconds(process.pid), ended_seconds()
        process.send_signal(signal.SIGINT)
        try:
            status = process.wait(30)  # by the clock, on a busy machine
        except subprocess.TimeoutExpired:
            process.kill()
            sys.exit("SIGINT after %g s: no end" % after)
        spent = ended_seconds() - ended - before
        output.seek(0)
        lines = output.read().splitlines()
    if status == 0:  # it was faster
        break
    if status == -signal.SIGINT or status == 130:  # before the analysis
        continue
    if status != 1 or lines == [] or not lines[-1].endswith("interrupted"):
        sys.exit("SIGINT after %g s: status %d\n%s" % (after, status, "\n".join(lines[-3:])))
    if spent > len(os.sched_getaffinity(0)):
        sys.exit("SIGINT after %g s: %g s of processor time more" % (after, spent))
    interrupted += 1
if interrupted == 0:
    sys.exit("Ctrl-C never interrupts")
P
exit $failed
