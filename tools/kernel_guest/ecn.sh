# Prague with accurate ECN (RFC 9768), and BBRv3 with ecn = true on classic ECN (RFC 3168) and on accurate ECN:
# 10 Mbit/s, 10 ms or 2 ms,
# fq_codel that marks packets which waited for more than 1 ms.
try() { # OBJECT PARAMETERS TCP_ECN DELAY_MS
    topology 10 $4 "handle 1: tbf rate 10mbit burst 5k limit 500k"
    /i/ip netns exec R /i/tc qdisc add dev r1 parent 1: fq_codel ce_threshold 1ms
    echo $3 > $TCP/tcp_ecn
    /i/ip netns exec D sh -c "echo $3 > $TCP/tcp_ecn"
    label=$1-$3
    echo "ECN $label sysctl $(cat $TCP/tcp_ecn)"
    load $1 "$2" 10000
    sleep 100000 | /fullpipe-kernel trace 0 0 /objects > /rows &
    reader=$!
    sleep 0.5
    serve fp_$1 5001
    echo "ECN $label bytes $(fetch 5001 10)"
    killall sleep
    wait $reader
    /i/ip netns exec R /i/tc -s qdisc show dev r1 | tr "\n" " " | sed "s/^/ECN $label qdisc /"
    echo
    # Accurate ECN counts packets by codepoint at the receiver: InECT0Pkts, InECT1Pkts, InCEPkts.
    /i/ip netns exec D awk -v name=$label '/^IpExt/ { if (!n) n = split($0, keys); else for (i = 2; i <= n; i++) if (keys[i] ~ /ECT|CEP/) print "ECN", name, keys[i], $i }' /proc/net/netstat
    grep connection /rows | tail -3 | head -1 | sed "s/^/ECN $label row /"
    killall httpd
    unload
}
try prague "" 3 10
try bbr3 '"ecn":1' 1 2
try bbr3 '"ecn":1' 3 2
