# A real Slurm on one machine without systemd: munged, slurmctld and a slurmd for each node, each in its own network
# namespace, with links of RATE to one bridge.
# usage: bed.sh up FOLDER NODES RATE | fault FOLDER rate|quota NODE VALUE | down FOLDER
set -eu
verb=$1 D=$2 P=bcsl NET=10.88.0
quotas=/sys/fs/cgroup/cpu
[ -d $quotas ] || quotas=/sys/fs/cgroup
limit() { # RATE, NODE
  ip netns exec $P$2 tc qdisc replace dev eth0 root tbf rate "$1" burst 64kb limit 300kb
  tc qdisc replace dev ${P}v$2 root tbf rate "$1" burst 64kb limit 300kb
}
case $verb in
up)
  N=$3 RATE=$4
  mkdir -p "$D"/{munge,socket,state,log,spool}; chmod 700 "$D/munge"; chmod 755 "$D" "$D/socket"
  echo "$N" > "$D/nodes"
  dd if=/dev/urandom of="$D/munge/key" bs=1024 count=1 status=none; chmod 600 "$D/munge/key"
  networks
  for i in $(seq "$N"); do limit "$RATE" $i; done
  {
    cat <<C
ClusterName=bitcost
SlurmctldHost=$(hostname)($NET.254)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$D/socket/munge.socket
StateSaveLocation=$D/state
SlurmdSpoolDir=$D/spool/%n
SlurmctldPidFile=$D/log/slurmctld.pid
SlurmdPidFile=$D/log/slurmd-%n.pid
SlurmctldLogFile=$D/log/slurmctld.log
SlurmdLogFile=$D/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/linear
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,bf_interval=1
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
SlurmdParameters=config_overrides
KillWait=5
C
    for i in $(seq "$N"); do
      echo "NodeName=n$i NodeHostname=$(hostname) NodeAddr=$NET.$i Port=6818 CPUs=2 RealMemory=1000 State=UNKNOWN"
    done
    echo "PartitionName=mesh Nodes=n[1-$N] Default=YES MaxTime=INFINITE OverSubscribe=EXCLUSIVE State=UP"
  } > "$D/slurm.conf"
  export SLURM_CONF=$D/slurm.conf
  munged --force --key-file="$D/munge/key" --socket="$D/socket/munge.socket" --pid-file="$D/munge/pid" \
    --log-file="$D/munge/log" --seed-file="$D/munge/seed"
  slurmctld -c -f "$SLURM_CONF"
  # `ip netns exec` would mount another /sys, without the cgroups that slurmd looks for.
  for i in $(seq "$N"); do mkdir -p "$D/spool/n$i"; nsenter --net=/run/netns/$P$i slurmd -N n$i -f "$SLURM_CONF"; done
  for _ in $(seq 100); do [ "$(sinfo -h -t idle -o %D)" = "$N" ] && exit 0; sleep 0.1; done
  sinfo; exit 1;;
fault)
  kind=$3 i=$4
  case $kind in
  rate) limit "$5" $i;;
  quota)
    mkdir -p $quotas/$P
    if [ -e $quotas/$P/cpu.max ]; then echo "$5 100000" > $quotas/$P/cpu.max; else echo "$5" > $quotas/$P/cpu.cfs_quota_us; fi
    cat "$D/log/slurmd-n$i.pid" > $quotas/$P/cgroup.procs;;
  esac;;
down)
  N=$(cat "$D/nodes")
  for f in "$D"/log/slurmd-*.pid "$D/log/slurmctld.pid" "$D/munge/pid"; do [ -f "$f" ] && kill "$(cat "$f")" || true; done
  for _ in $(seq 50); do
    alive=0
    for f in "$D"/log/slurmd-*.pid "$D/log/slurmctld.pid"; do [ -f "$f" ] && kill -0 "$(cat "$f")" 2>/dev/null && alive=1; done
    [ $alive = 0 ] && break; sleep 0.1
  done
  networks_down
  [ ! -d $quotas/$P ] || rmdir $quotas/$P || true;;
esac
