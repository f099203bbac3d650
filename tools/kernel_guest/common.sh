#!/bin/busybox sh
# The first process of the guest: it sets the machine up, runs /part.sh, and powers off. tools/kernel_guest.py.
export PATH=/bin
/bin/busybox mount -t proc proc /proc
/bin/busybox --install -s /bin
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev 2> /dev/null
mount -t tmpfs run /run
mount -t tmpfs tmp /tmp
mkdir -p /var/run /run/netns /www
ln -s /run/netns /var/run/netns
echo "kernel $(uname -r)"
for module in /modules/*.ko; do insmod $module; done
/i/ip link set lo up
# A file of 2 GB that needs no memory.
dd if=/dev/zero of=/www/file bs=1 count=0 seek=2000000000 2> /dev/null
TCP=/proc/sys/net/ipv4

# load ALGORITHM PARAMETERS TRACE_US: until unload
load() {
    rm -f /in
    mkfifo /in
    plan="{\"algorithm\":\"$1\",\"object\":\"/objects/$1.bpf.o\",\"parameters\":{$2},\"trace_us\":$3,\"default\":false,\"detach\":false}"
    /fullpipe-kernel hold "$plan" < /in > /said 2> /errors &
    exec 9> /in
    for wait in $(seq 100); do test -s /said -o -s /errors && break; sleep 0.1; done
    cat /errors
}
unload() {
    exec 9>&-
    sleep 1
}

# topology RATE_MBIT DELAY_MS QUEUE: sender, router R and receiver D
topology() {
    for node in R D; do
        /i/ip netns del $node 2> /dev/null
        /i/ip netns add $node
        /i/ip -n $node link set lo up
    done
    /i/ip link del s0 2> /dev/null
    /i/ip link add s0 type veth peer name r0 netns R
    /i/ip -n R link add r1 type veth peer name d0 netns D
    /i/ip addr add 10.0.0.1/24 dev s0
    /i/ip -n R addr add 10.0.0.2/24 dev r0
    /i/ip -n R addr add 10.0.1.2/24 dev r1
    /i/ip -n D addr add 10.0.1.1/24 dev d0
    off="tso off gso off gro off tx off rx off sg off"
    /i/ethtool -K s0 $off > /dev/null
    for device in R:r0 R:r1 D:d0; do
        /i/ip netns exec ${device%:*} /i/ethtool -K ${device#*:} $off > /dev/null
    done
    /i/ip link set s0 up
    /i/ip -n R link set r0 up
    /i/ip -n R link set r1 up
    /i/ip -n D link set d0 up
    /i/ip route add 10.0.1.0/24 via 10.0.0.2
    /i/ip -n D route add default via 10.0.1.2
    /i/ip netns exec R sh -c "echo 1 > $TCP/ip_forward"
    echo 1 > $TCP/tcp_no_metrics_save
    echo "4096 65536 67108864" > $TCP/tcp_wmem
    /i/ip netns exec D sh -c "echo '4096 131072 67108864' > $TCP/tcp_rmem"
    /i/tc qdisc replace dev s0 root fq limit 100000 flow_limit 20000
    /i/ip netns exec R /i/tc qdisc add dev r1 root $3
    /i/ip netns exec D /i/tc qdisc add dev d0 root netem delay $2ms limit 1000000
}

# serve ALGORITHM PORT: connections to a listener have the algorithm that was the default when it began
serve() {
    echo $1 > $TCP/tcp_congestion_control
    httpd -p $2 -h /www
}

# fetch PORT SECONDS: prints the bytes that arrived
fetch() {
    /i/ip netns exec D timeout $2 wget -q -O - http://10.0.0.1:$1/file | wc -c
}

. /part.sh
dmesg | grep -E "WARNING|BUG|Oops"
echo "end of the guest"
poweroff -f
