#!/usr/bin/env bash
# driver_layout.sh PROGRAM: `tristar info --layout`: consistent results, JSON, wrong usage. Works in the current folder.
. "$(dirname "$0")/driver.sh"
rm -f -- *.txt *.json # of an earlier run
layout() { expect 0 "$1" info gen:s2d9pt:60 --layout "${@:2}"; }

# ---- Wrong usage and failures
for bad in 2x2 2x2x 2x2x2x 0x2x2 2x0x2 2x2x0 -2x2x2 +2x2x2 '2 x2x2' axbxc 2x2x2.5 xx 1048577x1x1 99999999999999999999x1x1 2X2X2; do
  expect 2 '^tristar: info: --layout .*: not three numbers' info gen:s2d9pt:20 --layout "$bad"
done
expect 2 'the last number is not a power of two' info gen:s2d9pt:20 --layout 1x1x3
expect 2 '--layout .*: an empty name' info gen:s2d9pt:20 --layout ''
expect 2 '--algo 2d needs one grid, such as --layout 2x3x1' info gen:s2d9pt:20 --layout 2x3x4 --algo 2d
expect 2 '--algo fast: not one of replicated\|levelwise\|2d' info gen:s2d9pt:20 --layout 1x1x1 --algo fast
expect 2 '--map tree: not one of subtree\|cyclic' info gen:s2d9pt:20 --layout 1x1x1 --map tree
expect 2 '--tree and --dot cannot be combined with --layout' info gen:s2d9pt:20 --layout 1x1x1 --dot x.dot
for option in '--nrhs 2' '--algo replicated' '--map cyclic' '--message-tree flat'; do
  # shellcheck disable=SC2086 # an option and its value
  expect 2 'need --layout' info gen:s2d9pt:20 $option
done
expect 1 '^tristar: gen:s2d9pt:20: layout 1024x1024x2 has more than 1048576 processes$' info gen:s2d9pt:20 --layout 1024x1024x2
expect 0 '^layout +1 x 1 x 4: ' info gen:s2d9pt:20 --layout 1x1x4 --ordering natural

# ---- One process sends nothing
layout '^layout +1 x 1 x 1: 1 process, replicated algorithm, subtree map, binary trees$' 1x1x1
row '^  together +0 +0\.0 +0 '
row ' balance 1\.00$'

# ---- Figures
layout '^layout +2 x 2 x 4: 16 processes, levelwise algorithm, cyclic map, flat trees$' 2x2x4 --algo levelwise \
  --map cyclic --message-tree flat
row ' 4 steps between grids$'
layout ' levelwise algorithm, ' 2x2x4 --algo baseline # words of 0.1
layout ' replicated algorithm, ' 2x2x4 --algo new
layout ' 2 steps between grids$' 2x2x4
figures() { layout '"layout":' "$2" --json - "${@:3}"; cp output.txt "$1.json"; }
figures subtree 4x4x4
figures cyclic 4x4x4 --map cyclic
figures levelwise 4x4x4 --algo levelwise
figures many 4x4x4 --nrhs 10
figures single 4x4x4 --precision s
figures flat 8x4x1 --algo 2d --map cyclic --message-tree flat
if command -v python3 >/dev/null; then
  python3 - <<'END' || fail "figures"
import json
f = {name: json.load(open(name + ".json"))["layout"] for name in ("subtree", "cyclic", "levelwise", "many", "single", "flat")}
for l in f.values():
    assert l["ranks"] == l["px"] * l["py"] * l["pz"]
    for group in ("broadcast", "reduction", "grids", "all"):
        for key in ("", "_bytes"):
            sent, received = l[group]["sent" + key], l[group]["received" + key]
            assert sent["total"] == received["total"]
            for r in (sent, received):
                assert 0 <= r["min"] <= r["mean"] <= r["max"] and abs(r["mean"] * l["ranks"] - r["total"]) < 1e-6 * (1 + r["total"])
    for key in ("sent", "sent_bytes"):
        assert sum(l[g][key]["total"] for g in ("broadcast", "reduction", "grids")) == l["all"][key]["total"]
    assert abs(l["balance"] * l["factor_bytes"]["mean"] - l["factor_bytes"]["max"]) < 1
assert 3 * f["subtree"]["all"]["sent"]["total"] < f["cyclic"]["all"]["sent"]["total"]
assert f["subtree"]["grid_steps"] == 2 and f["levelwise"]["grid_steps"] == 4 and f["flat"]["grid_steps"] == 0
assert f["flat"]["grids"]["sent"]["max"] == 0 and f["flat"]["all"]["sent"]["max"] > 0
assert f["subtree"]["factor_bytes"]["total"] > f["levelwise"]["factor_bytes"]["total"]
assert f["many"]["all"]["sent"] == f["subtree"]["all"]["sent"]
assert f["many"]["all"]["sent_bytes"]["total"] == 10 * f["subtree"]["all"]["sent_bytes"]["total"]
assert f["single"]["factor_bytes"]["total"] < f["subtree"]["factor_bytes"]["total"]
END
fi
finish
