# What both beds share: N network namespaces $P1 to $PN, each with a device eth0 at a bridge whose address is $NET.254.
networks() {
  ip link add ${P}br type bridge; ip addr add $NET.254/24 dev ${P}br; ip link set ${P}br up
  for i in $(seq "$N"); do
    ip netns add $P$i; ip link add ${P}v$i type veth peer name eth0 netns $P$i; ip link set ${P}v$i master ${P}br up
    ip -n $P$i addr add $NET.$i/24 dev eth0; ip -n $P$i link set lo up; ip -n $P$i link set eth0 up
  done
}

networks_down() {
  for i in $(seq "$N"); do ip netns del $P$i || true; ip link del ${P}v$i 2> /dev/null || true; done
  ip link del ${P}br || true
}

