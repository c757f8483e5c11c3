#!/usr/bin/env bash
# simulate_placing.sh PROGRAM: `tristar simulate` on the six families of SC 2023, with 1, 2 and 4 GPUs. Results are right. A
# placed solve is never slower than the cores alone, or than GPUs with as much as fits into their memory. Panels cross each
# bus once, and StarPU counts exactly the bytes of the plan. A run repeats to the last digit. With memory for half of the
# panels results are right, and the time is between the other two. Keys of the JSON are those of the guide. Works in the
# current folder.
guide=$(cd "$(dirname "$0")/../../tools/doc/guide" && pwd)
. "$(dirname "$0")/driver.sh"
rm -f -- *.json # of an earlier run
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }

for matrix in s2d9pt:300 kkt3d:16 elasticity3d:14 maxwell3d:16 chem3d:16 fusion2d:30; do
  for devices in 1 2 4; do
    expect 0 '^placed ' simulate "gen:$matrix" --platform a100 --devices $devices --repeat 2 --json "${matrix/:/-}-$devices.json"
  done
done
python3 - *.json <<'END' || fail "placing"
import json, sys
wrong = 0
for path in sys.argv[1:]:
    places = {p["place"]: p for p in json.load(open(path))["places"]}
    assert list(places) == ["cpu", "gpu", "auto"], path
    cpu, gpu, auto = (places[p]["solve_s"] for p in places)
    print("%-22s cores %7.1f us  GPU %7.1f us  placed %7.1f us" % (path[:-5], 1e6 * cpu, 1e6 * gpu, 1e6 * auto))
    for p in places.values():
        devices = range(len(p["device_chunks"]))
        assert p["error"] < 1e-12 and (p["place"] != "cpu" or len(devices) == 0), (path, p)
        for d in devices:
            there = p["factor_bytes"][d] + p["table_bytes"][d]
            ok = (p["up_bytes"][d] == p["plan_up_bytes"][d] and p["down_bytes"][d] == p["plan_down_bytes"][d] and
                  p["first_up_bytes"][d] == p["plan_up_bytes"][d] + there and
                  p["first_down_bytes"][d] == p["plan_down_bytes"][d])
            if not ok:
                print("%s, %s: bytes of device %d differ from the plan's: %s" % (path, p["place"], d, p))
            wrong += not ok
    if len(places["gpu"]["device_chunks"]) == 0 or auto > 1.02 * min(cpu, gpu):
        print("%s: slower than the cores or GPUs: %g, %g, %g" % (path, cpu, gpu, auto))
        wrong += 1
sys.exit(wrong > 0)
END

# ---- The same again, on two GPUs and another node
for run in 1 2; do expect 0 '^placed ' simulate gen:s2d9pt:150 --platform gh200 --devices 2 --nrhs 3 --json "again-$run.json"; done
python3 - <<'END' || fail "two runs differ"
import json
one, two = (json.load(open("again-%d.json" % k)) for k in (1, 2))
assert one == two, (one, two)
END

# ---- Memory for half of the panels
half=$(python3 -c 'import json; print(int(json.load(open("s2d9pt-300-1.json"))["places"][1]["factor_bytes"][0] / 2))')
expect 0 'no room for' simulate gen:s2d9pt:300 --platform a100 --device-bytes "$half" --json half.json
python3 - "$half" <<'END' || fail "memory for half of the panels"
import json, sys
whole, half = (json.load(open(name))["places"] for name in ("s2d9pt-300-1.json", "half.json"))
there = half[1]["factor_bytes"]
assert 0.3 * int(sys.argv[1]) < sum(there) <= int(sys.argv[1]) and half[1]["unfit_bytes"] > 0, half[1]
assert half[1]["up_bytes"] == half[1]["plan_up_bytes"] and half[1]["error"] < 1e-12, half[1]
assert whole[1]["solve_s"] <= half[1]["solve_s"] <= 1.1 * whole[0]["solve_s"], (whole[1]["solve_s"], half[1]["solve_s"], whole[0]["solve_s"])
END

# ---- A signal leaves no temporary files
mkdir -p left
python3 - "$tristar" <<'END' || fail "signals"
import glob, os, signal, subprocess, sys, time
for number in (signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)  # nohup and background jobs of a shell ignore them, and so would children
for number, seconds in ((signal.SIGINT, 0), (signal.SIGINT, 4), (signal.SIGHUP, 0), (signal.SIGHUP, 4)):
    process = subprocess.Popen([sys.argv[1], "simulate", "gen:s2d9pt:300", "--repeat", "1000"],
                               env=dict(os.environ, TMPDIR=os.getcwd() + "/left"), stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    while not glob.glob("left/*/calibration"):
        assert process.poll() is None, "it has ended with %d" % process.returncode
        time.sleep(0.01)
    time.sleep(seconds) # StarPU has started, or not
    process.send_signal(number)
    assert process.wait(100) == -number, process.returncode
    assert os.listdir("left") == [], os.listdir("left")
END

# ---- What is wrong
expect 1 '^tristar: cannot open missing\.mtx: ' simulate missing.mtx --json missing.json
TMPDIR=$PWD/none expect 1 '^tristar: simulate: cannot describe the node to StarPU in the folder of temporary files: No such file' simulate gen:s2d9pt:5
TRISTAR_CHECK=1 expect 0 '^placed ' simulate gen:convdiff3d:8 --method lu --precision z --workers 3 --devices 3
STARPU_HOSTNAME='' expect 1 'StarPU simulates a machine, and has no description of one' solve gen:s2d9pt:100 --engine tasks

python3 - "$guide/json.md" <<'END' || fail "keys"
import glob, json, re, sys
text = re.search(r"^## simulate\n(.*?)(^## |\Z)", open(sys.argv[1]).read(), re.M | re.S)[1]
rows = re.findall(r"^\| (`.*`) \| (.*) \|$", text, re.M)
known = {key for names, meaning in rows for key in re.findall(r"`([^`]+)`", names)}
optional = {key for names, meaning in rows if meaning.startswith("optional:") for key in re.findall(r"`([^`]+)`", names)}
found = set()
for path in glob.glob("*.json"):
    for key, value in json.load(open(path)).items():
        found |= {"places[]." + inner for place in value for inner in place} if key == "places" else {key}
assert found - known == set() and known - found <= optional, (found - known, known - found)
END
finish
