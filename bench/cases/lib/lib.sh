# What the scripts of all cases share: SCRIPT PREFIX [SECONDS]. The hosts are namespaces, PREFIXa at 10.77.1.2 and PREFIXb at 10.77.2.2, and
# between them the router PREFIXr, which has .1 of both. Needs iproute2, nft, gcc, python3 and iperf3; removes all it made but the compiled line.
P=${1:?a prefix of the namespaces} N=${2:-5}
A=10.77.1.2 B=10.77.2.2
LIB=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
STATE=${TMPDIR:-/tmp}/cases.$P

# at HOST COMMAND…, and the same beside what follows
at() { ip netns exec "$P$1" "${@:2}"; }
beside() { at "$@" >>"$STATE/log" 2>&1 </dev/null & }
set_at() { at "$1" sysctl -qw "${@:2}"; }

# The hosts, which have the usual settings whatever those of the machine are, with a server of iperf3 at b
up() {
    down
    mkdir -p "$STATE"
    for host in a b r; do
        ip netns add "$P$host"
        ip -n "$P$host" link set lo up
        set_at $host net.ipv4.tcp_no_metrics_save=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0 \
            "net.ipv4.tcp_rmem=4096 131072 6291456" "net.ipv4.tcp_wmem=4096 16384 4194304"
    done
    set_at r net.ipv4.ip_forward=1
    wire a 1 eth0 ra
    wire b 2 eth0 rb
    for host in "a 1" "b 2"; do
        set -- $host
        ip -n "$P$1" route add default via "10.77.$2.1" congctl cubic
    done
    beside b iperf3 -s
    beside b python3 "$LIB/ask.py" serve
    for _ in $(seq 100); do
        at b ss -Hltn "sport = :5201 or sport = :7000" | wc -l | grep -q 2 && break
        sleep 0.05
    done
}

# wire HOST NET DEVICE PEER: a cable from a host to the router
wire() {
    ip link add "$3" netns "$P$1" type veth peer name "$4" netns "${P}r"
    ip -n "$P$1" addr add "10.77.$2.2/24" dev "$3"
    ip -n "${P}r" addr add "10.77.$2.1/24" dev "$4"
    ip -n "$P$1" link set "$3" up
    ip -n "${P}r" link set "$4" up
}

# line KEY=VALUE…: the path between the hosts, as line.c describes it; once more: another one
line() {
    local tool=${TMPDIR:-/tmp}/cases-line
    [ "$tool" -nt "$LIB/line.c" ] || gcc -O2 -o "$tool" "$LIB/line.c" || return
    [ -e "$STATE/line" ] && sleep 1 && kill -9 "$(cat "$STATE/line")" && sleep 0.3
    ip netns exec "${P}r" chrt -f 1 "$tool" line "$@" >>"$STATE/log" 2>&1 </dev/null &
    echo $! >"$STATE/line"
    disown
    for _ in $(seq 100); do ip -n "${P}r" link set line up mtu 9000 txqueuelen 10000 2>/dev/null && break || sleep 0.05; done
    ip -n "${P}r" route replace default dev line table 77
    ip -n "${P}r" rule | grep -q 'lookup 77' && return
    for device in ra rb; do ip -n "${P}r" rule add iif $device lookup 77; done
}

down() {
    for host in a b r; do
        [ -e "/run/netns/$P$host" ] || continue
        ip netns pids "$P$host" | xargs -r kill -9
        ip netns del "$P$host"
    done
    rm -rf "$STATE"
}

# Programs of the cases. The last line is the result: rate_mbps, latency_ms or loss_pct, and a number
iperf() { at a timeout 60 iperf3 -c $B -t "$N" -J "$@" | python3 "$LIB/ask.py" iperf3; }
ask() { at a timeout 60 python3 "$LIB/ask.py" "$1" "$N" "${@:2}"; }
