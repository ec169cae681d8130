# A real Kubernetes on one machine without systemd, docker or a registry: etcd, the control plane, and for each node a
# network namespace with its own containerd and kubelet. Its pods have a bridge in each node, and routes
# between nodes.
# usage: bed.sh up FOLDER NODES BINARIES PROGRAM | down FOLDER
set -eu
verb=$1 D=$2 P=bckb NET=10.89.0 PODS=10.90

# Starts a program that outlives this script: PIDFILE LOG COMMAND…
start() { local pid=$1 log=$2; shift 2; setsid nohup "$@" > "$log" 2>&1 < /dev/null & echo $! > "$pid"; }

# Makes an archive of an image as docker saves them: NAME ROOT ENTRYPOINT ARCHIVE
image() {
  local work; work=$(mktemp -d -p "$D")
  tar -C "$2" --owner=0 --group=0 -cf "$work/layer.tar" .
  local id kind; id=$(sha256sum < "$work/layer.tar" | cut -d' ' -f1)
  kind=$(uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/')
  echo "{\"architecture\":\"$kind\",\"os\":\"linux\",\"config\":{\"User\":\"65534:65534\",\"Entrypoint\":[\"$3\"],\"Env\":[\"PATH=/usr/bin\"]},\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[\"sha256:$id\"]}}" > "$work/config.json"
  echo "[{\"Config\":\"config.json\",\"RepoTags\":[\"$1\"],\"Layers\":[\"layer.tar\"]}]" > "$work/manifest.json"
  tar -C "$work" -cf "$4" manifest.json config.json layer.tar
}

# The images: bitcost with the libraries that it was linked with, and the process that keeps a pod's
# namespaces.
images() {
  mkdir -p "$D/images/bitcost/usr/bin" "$D/images/pause"
  cp "$1" "$D/images/bitcost/usr/bin/bitcost"
  ldd "$1" 2>/dev/null | grep -o '/[^ ]*' | while read -r library; do
    mkdir -p "$D/images/bitcost$(dirname "$library")"; cp -L "$library" "$D/images/bitcost$library"
  done
  echo 'int pause(void); int main(void) { for (;;) pause(); }' | cc -static -O1 -x c -o "$D/images/pause/pause" -
  image localhost/bitcost:bed "$D/images/bitcost" /usr/bin/bitcost "$D/images/bitcost.tar"
  image localhost/pause:1 "$D/images/pause" /pause "$D/images/pause.tar"
}

routes() {
  for i in $(seq "$N"); do
    ip -n $P$i route add default via $NET.254; ip netns exec $P$i sysctl -qw net.ipv4.ip_forward=1
  done
  for i in $(seq "$N"); do
    for j in $(seq "$N"); do [ "$i" = "$j" ] || ip -n $P$i route add $PODS.$j.0/24 via $NET.$j; done
  done
}

# The certificates, the tokens of an administrator and of an ordinary user, and their configurations of kubectl.
users() {
  openssl genrsa -out sa.key 2048 2> /dev/null
  openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 2 -subj /CN=ca 2> /dev/null
  openssl req -newkey rsa:2048 -nodes -keyout kc.key -out kc.csr -subj "/O=system:masters/CN=apiserver-kubelet-client" 2> /dev/null
  echo extendedKeyUsage=clientAuth > ext
  openssl x509 -req -in kc.csr -CA ca.crt -CAkey ca.key -CAcreateserial -out kc.crt -days 2 -extfile ext 2> /dev/null
  : > tokens.csv; chmod 600 tokens.csv
  for user in admin user; do
    local token group=; token=$(openssl rand -hex 16); [ $user = user ] || group=,system:masters
    echo "$token,$user,$user$group" >> tokens.csv
    cat > $user.conf <<C
apiVersion: v1
kind: Config
clusters: [{name: bed, cluster: {server: "https://$NET.254:16443", insecure-skip-tls-verify: true}}]
users: [{name: $user, user: {token: $token}}]
contexts: [{name: bed, context: {cluster: bed, user: $user}}]
current-context: bed
C
    chmod 600 $user.conf
  done
}

control_plane() {
  start etcd.pid etcd.log etcd --data-dir "$D/etcd" --listen-client-urls http://127.0.0.1:12379 \
    --advertise-client-urls http://127.0.0.1:12379 --listen-peer-urls http://127.0.0.1:12380 --unsafe-no-fsync
  start api.pid api.log "$B/kube-apiserver" --etcd-servers=http://127.0.0.1:12379 --cert-dir=certs --secure-port=16443 \
    --bind-address=$NET.254 --advertise-address=$NET.254 --service-account-key-file=sa.key \
    --service-account-signing-key-file=sa.key --service-account-issuer=https://kubernetes.default.svc \
    --token-auth-file=tokens.csv --authorization-mode=RBAC --service-cluster-ip-range=10.96.0.0/24 \
    --disable-admission-plugins=ServiceAccount --kubelet-client-certificate=kc.crt --kubelet-client-key=kc.key \
    --kubelet-preferred-address-types=InternalIP
  for _ in $(seq 240); do "$B/kubectl" get --raw /readyz > /dev/null 2>&1 && break; sleep 0.5; done
  local own="--kubeconfig=$D/admin.conf --authentication-kubeconfig=$D/admin.conf --authorization-kubeconfig=$D/admin.conf --leader-elect=false --bind-address=127.0.0.1"
  # shellcheck disable=SC2086
  start cm.pid cm.log "$B/kube-controller-manager" $own --service-account-private-key-file=sa.key --cert-dir=certs-cm \
    "--controllers=*,-nodeipam,-cloud-node-lifecycle"
  # shellcheck disable=SC2086
  start sched.pid sched.log "$B/kube-scheduler" $own --cert-dir=certs-s
}

# The folders of control groups: one of version 2, or one for each controller.
groups() { if [ -e /sys/fs/cgroup/cgroup.controllers ]; then echo /sys/fs/cgroup; else ls -d /sys/fs/cgroup/*/; fi; }

node() {
  local i=$1 F=$D/n$1; mkdir -p "$F/cni" "$F/kl"
  # Each kubelet removes the groups of pods that it does not know, so each has its own.
  for g in $(groups); do mkdir -p "$g/$P$i"; done
  cat > "$F/containerd.toml" <<C
version = 2
root = "$F/root"
state = "$F/state"
[grpc]
  address = "$F/c.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$F/cni"
C
  cat > "$F/cni/10.conflist" <<C
{"cniVersion":"1.0.0","name":"bed","plugins":[{"type":"bridge","bridge":"cni0","isGateway":true,"ipMasq":false,"hairpinMode":true,
 "ipam":{"type":"host-local","ranges":[[{"subnet":"$PODS.$i.0/24"}]],"routes":[{"dst":"0.0.0.0/0"}],"dataDir":"$F/ipam"}}]}
C
  cat > "$F/kubelet.yaml" <<C
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: unix://$F/c.sock
cgroupDriver: cgroupfs
cgroupsPerQOS: true
cgroupRoot: /$P$i
enforceNodeAllocatable: []
failSwapOn: false
failCgroupV1: false
localStorageCapacityIsolation: false
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $D/ca.crt}}
authorization: {mode: Webhook}
podLogsDir: $F/podlogs
C
  # `ip netns exec` would mount another /sys, without the cgroups that both look for.
  start "$F/ctd.pid" "$F/containerd.log" nsenter --net=/run/netns/$P$i containerd -c "$F/containerd.toml"
  for _ in $(seq 100); do ctr -a "$F/c.sock" version > /dev/null 2>&1 && break; sleep 0.2; done
  for archive in "$D"/images/*.tar; do ctr -a "$F/c.sock" -n k8s.io image import "$archive" > /dev/null; done
  start "$F/kl.pid" "$F/kubelet.log" nsenter --net=/run/netns/$P$i "$B/kubelet" --config="$F/kubelet.yaml" \
    --kubeconfig="$D/admin.conf" --root-dir="$F/kl" --cert-dir="$F/pki" --hostname-override=n$i --node-ip=$NET.$i
}

case $verb in
up)
  N=$3 B=$4; mkdir -p "$D"; cd "$D"; echo "$N" > nodes
  export KUBECONFIG=$D/admin.conf
  images "$5"; networks; routes; users; control_plane
  for i in $(seq "$N"); do node "$i"; done
  for _ in $(seq 240); do
    [ "$("$B/kubectl" get nodes --no-headers 2> /dev/null | grep -c ' Ready')" = "$N" ] && exit 0; sleep 0.25
  done
  "$B/kubectl" get nodes; exit 1;;
down)
  cd "$D"; N=$(cat nodes)
  for i in $(seq "$N"); do kill "$(cat n$i/kl.pid)" || true; done; sleep 1
  for i in $(seq "$N"); do
    for c in $(ctr -a n$i/c.sock -n k8s.io task ls -q); do ctr -a n$i/c.sock -n k8s.io task kill -s KILL "$c" || true; done
  done; sleep 1
  for i in $(seq "$N"); do
    for c in $(ctr -a n$i/c.sock -n k8s.io container ls -q); do ctr -a n$i/c.sock -n k8s.io task rm -f "$c" || true; done
  done > /dev/null 2>&1
  for f in n*/ctd.pid cm.pid sched.pid api.pid; do kill "$(cat "$f")" || true; done; sleep 2; kill "$(cat etcd.pid)" || true
  for m in $(awk -v r="$D/" 'index($2, r) == 1 { print $2 }' /proc/mounts | sort -r); do umount "$m" || true; done
  networks_down
  for g in $(groups); do
    find "$g"/k8s.io "$g"/$P[0-9]* -depth -type d -exec rmdir {} + 2> /dev/null || true
  done;;
esac
