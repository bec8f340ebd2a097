# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# common.sh: what the measurements of the whole daemon share; sourced with BUILD and OUT as "$1" and "$2" and the
# program's own name in $program.  Environment: SECONDS_EACH (default 4): about how long one run takes; RUNS (default 3,
# the median counts); TRIGD_MACHINE and TRIGD_COMMIT as in bench/common/result.h.
set -eu
build=$(cd "${1:?usage: $program BUILD OUT [NAME ...]}" && pwd)
out=$(realpath "${2:?usage: $program BUILD OUT [NAME ...]}")
root=$(cd "$(dirname "$0")/../.." && pwd)
http='{address: ""}'
each=${SECONDS_EACH:-4} runs=${RUNS:-3}
folder=$(mktemp -d "${TMPDIR:-/tmp}/trigd-bench.XXXXXX")
pid=
finish() {
    status=$?
    [ -z "$pid" ] || kill "$pid" 2>/dev/null || true
    rm -rf "$folder"
    exit $status
}
trap finish EXIT
trap 'exit 130' INT TERM
gpus=$(nvidia-smi -L 2>/dev/null | wc -l || true)
cores=$(nproc)
machine=${TRIGD_MACHINE:-$(hostname)}
commit=${TRIGD_COMMIT:-$(git -C "$root" rev-parse --short HEAD 2>/dev/null || true)}
: >"$out"
cp "$root"/configs/menus/*.yaml "$folder"
sed 's/preset: pure/preset: dense/; s/pairs/dense/g' "$folder/pairs.yaml" >"$folder/dense.yaml"
settings= found= # of the daemon that runs; what its z-finder finds

# the value of a number in the replayer's report
value() { grep -o "\"$1\":[0-9.]*" "$folder/report.json" | cut -d: -f2; }

# plan LANES ZMQ_THREADS CLIENTS: cores, where there are enough; for $shards I/O threads (default 1) and $gather gather
# threads (default 0)
plan() {
    local io=${shards:-1} gather=${gather:-0} first

    clients=$3 zmq=$2
    threads="zmq_threads: $zmq" place=
    if [ "$cores" -lt 16 ] || [ "$gpus" -eq 0 ]; then
        clients=$((cores / 4 > 1 ? cores / 4 : 1))
        [ "$cores" -ge 8 ] || threads="zmq_threads: 1"
        threads="$threads, shards: $io, gather_threads: $gather"
        return 0
    fi
    # lanes that look for work keep their cores busy, so nobody else should be there
    first=$((io + zmq + $1)) # core of the clients, or of gather threads
    threads="$threads, spin_us: 1000, shards: $io, io: \"0-$((io - 1))\", zmq: \"$io-$((io + zmq - 1))\", lanes: \"$((io + zmq))-$((first - 1))\""
    if [ "$gather" -gt 0 ]; then
        threads="$threads, gather_threads: $gather, gather: \"$first-$((first + gather - 1))\""
        first=$((first + gather))
    fi
    [ "$first" -ge "$cores" ] || place="taskset -c $first-$((cores - 1))"
}

# start MENU DEVICES BATCHING CREDITS
start() {
    local what="devices: [$2], batching: {$3}; threads: {$threads}; $clients clients with $4 credits each${place:+, $place}"

    cat >"$folder/c.yaml" <<YAML
endpoints: ["ipc://$folder/ipc", "tcp://127.0.0.1:5790", "shm://$folder/shm"]
menu: $1.yaml
pool: {rois: 65536, mbytes: 4096}
clients: {credits: $4, max_layer: 63, max_items: ${max_items:-65536}, shm_mbytes: 512}
workers: {pinned_mbytes: ${pinned:-4096}}
isolation: ${isolation:-process}
devices: [$2]
batching: {$3, max_kbytes: ${max_kbytes:-65536}}
threads: {$threads}
conditions: "${conditions:-}"
${security:+security: $security}
control: {socket: control}
http: $http
YAML
    [ "$what" = "${told:-}" ] || echo "# $what"
    told=$what found=
    settings="$1.yaml; default deadlines; copies included; isolation ${isolation:-process}; pinned_mbytes ${pinned:-4096}; ${what//\"/\'}"
    "$build/bin/trigd" --config "$folder/c.yaml" >"$folder/log" 2>&1 &
    pid=$!
    until grep -qs to=ready "$folder/log"; do
        kill -0 "$pid" || { tail -n 5 "$folder/log" >&2; exit 1; }
        sleep 0.1
    done
}

stop() {
    kill "$pid"
    wait "$pid"
    pid=
}

# rois_of PRESET: the options that send RoIs of a preset, or of a file
rois_of() {
    case $1 in
    */*) printf -- '--file %s' "$1" ;;
    *) printf -- '--preset %s' "$1" ;;
    esac
}

# replay ENDPOINT PRESET ROIS DISTINCT OPTION ...: all RoIs must be answered, none by the hard limit
replay() {
    local endpoint=$1 preset=$2 rois=$3 distinct=$4
    shift 4
    # shellcheck disable=SC2046,SC2086 # words, or nothing
    $place "$build/bin/trigreplay" run --connect "$endpoint" $(rois_of "$preset") --rois "$rois" \
        --distinct "$distinct" --seed 1 --connections "$clients" --threads "$clients" --truth none \
        --timeout 120000 --quiet --json "$folder/report.json" "$@"
    [ "$(value lost)" = 0 ] && [ "$(value decided)" = "$rois" ] && [ "$(value status_timeout)" = 0 ]
}

# RoIs that take about so long at a rate, at least so many
enough() { awk -v r="$1" -v s="$each" -v d="$2" 'BEGIN {n = int(r * s); print n < d ? d : n}'; }

# note FIGURE UNIT BETTER GOAL DEVICE EXTRA VALUE ...: the median of the values; with the settings of the daemon that ran last, and
# the part of the hard scatters that its z-finder finds
note() {
    local figure=$1 unit=$2 better=$3 goal=$4 device=$5 extra=$6 values median low high
    shift 6
    mapfile -t values < <(printf '%s\n' "$@" | sort -g)
    median=${values[$(($# / 2))]} low=${values[0]} high=${values[$(($# - 1))]}
    printf '%-52s %12.0f %-6s (%.0f .. %.0f)  %s%s\n' "$figure" "$median" "$unit" "$low" "$high" "$extra" "$device"
    printf '{"bench": "%s", "figure": "%s", "value": %s, "unit": "%s", "better": "%s", %s"runs": %d, "spread": %s, %s"settings": "%s", "machine": "%s", "device": "%s", "commit": "%s", "date": "%s", "command": "%s"}\n' \
        "${bench:-daemon}" "$figure" "$median" "$unit" "$better" "${goal:+\"goal\": $goal, }" $# \
        "$(awk -v a="$low" -v b="$high" 'BEGIN {printf "%.3g", (b - a) / 2}')" \
        "${found:+\"found\": $found, }" "$settings" "$machine" "$device" "$commit" "$(date +%F)" "$program" >>"$out"
}

# seen: a time in seconds, and how many RoIs the daemon has decided until then
seen() {
    "$build/bin/trigctl" --socket "$folder/control" --json show ledger |
        awk -F'[:,}]' -v t="$EPOCHREALTIME" '{printf "%.6f %.0f\n", t, $4 + $6 + $8}'
}

# pulled: batches that came back from all lanes, and those of them whose columns the device has read itself
pulled() {
    "$build/bin/trigctl" --socket "$folder/control" --json show lanes | grep -o '"\(batches\|pulled\)":[0-9]*' |
        awk -F: '{n[$1] += $2} END {printf "%.0f %.0f\n", n["\"batches\""], n["\"pulled\""]}'
}

# open_all: until the devices read nearly all batches themselves, as they do once the memory of the clients is open; at most 20 s
open_all() {
    local from to

    to=$(pulled)
    for _ in $(seq 40); do
        from=$to
        sleep 0.5
        to=$(pulled)
        ! echo "$from $to" | awk '{exit !($4 - $2 >= 0.95 * ($3 - $1))}' || return 0
    done
}

# watch ENDPOINT PRESET DISTINCT OPTION ...: into rates, RoIs per second of $runs times $each seconds, while the same clients
# send without a pause; the first two seconds, and more while their memory is opened to a device, do not count.  All RoIs must
# be answered, none by the hard limit
watch() {
    local endpoint=$1 preset=$2 distinct=$3 client from to code=0
    shift 3
    rates=()
    from=$(seen)
    # shellcheck disable=SC2046,SC2086 # words, or nothing
    $place "$build/bin/trigreplay" run --connect "$endpoint" $(rois_of "$preset") --rois 1000000000000 \
        --distinct "$distinct" --seed 1 --connections "$clients" --threads "$clients" --truth none \
        --timeout 120000 --quiet --json "$folder/report.json" "$@" &
    client=$!
    while to=$(seen) && [ "${to#* }" -eq "${from#* }" ]; do
        kill -0 "$client" || return 1
        sleep 0.05
    done
    sleep 2
    [[ $endpoint != shm:* || $gpus -eq 0 || ${pinned:-4096} -eq 0 ]] || open_all
    to=$(seen)
    for _ in $(seq "$runs"); do
        from=$to
        sleep "$each"
        to=$(seen)
        rates+=("$(echo "$from $to" | awk '{printf "%.0f", ($4 - $2) / ($3 - $1)}')")
    done
    kill -INT "$client"
    wait "$client" || code=$?
    [ "$code" -eq 0 ] && [ "$(value lost)" = 0 ] && [ "$(value status_timeout)" = 0 ]
}

# measure FIGURE ENDPOINT PRESET DISTINCT DEVICE [OPTION ...]: the rate of clients that stay.  First a run that warms up; it also
# tells what a z-finder finds: vertices within 1 mm of the truth.
measure() {
    local figure=$1 endpoint=$2 preset=$3 distinct=$4 device=$5 rates truth=()
    shift 5
    [[ $settings != pairs.* && $settings != dense.* ]] || truth=(--truth 0:1)
    replay "$endpoint" "$preset" "$((distinct * 10))" "$distinct" --batch 4 "$@" "${truth[@]}"
    [ ${#truth[@]} -eq 0 ] || found=$(awk -v g="$(value within_1mm)" -v n="$(value with_truth)" 'BEGIN {printf "%.4f", g / n}')
    watch "$endpoint" "$preset" "$distinct" --batch 4 "$@"
    note "$figure" RoIs/s higher "" "$device" \
        "truncated $(awk -v t="$(value status_truncated)" -v n="$(value decided)" 'BEGIN {printf "%.1f", 100 * t / n}') %  ${found:+finds $found  }" "${rates[@]}"
}
