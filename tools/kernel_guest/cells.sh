# Cells of the kernel oracle: /plan has lines NAME OBJECTS ALGORITHMS RATE DELAY LIMIT SECONDS LOSS. Rows of the trace
# become lines STATE and RTT, by the sender's port.
echo 0 > $TCP/tcp_ecn
while read name objects algorithms rate delay limit seconds loss; do
    lost=""
    test $loss = 0 || lost="loss $loss%"
    topology $rate $delay "netem rate ${rate}mbit -14 limit $limit $lost"
    load $objects "" 1000
    rm -f /rows
    sleep 100000 | /fullpipe-kernel trace 0 0 /objects | awk -v name=$name '
        function of(key) { return match($0, "\"" key "\":[0-9.e-]+") ? substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3) + 0 : 0 }
        /"connection"/ {
            port = of("local_port"); at = of("time")
            if (!(port in first)) { first[port] = at; state[port] = of("state") }
            at -= first[port]
            if (of("state") != state[port]) { print "STATE", name, port, at, state[port], of("state"); state[port] = of("state") }
            if (at < 2) from[port] = of("delivered")
            else {
                if (!(port in begin)) { begin[port] = at; from[port] = of("delivered") }
                rtt = of("rtt"); if (!rtt) rtt = of("srtt")
                n[port]++; sum[port] += rtt; seen[port "," int(rtt / 50)]++
                if (at > begin[port]) rate[port] = (of("delivered") - from[port]) * 1448 * 8 / (at - begin[port]) / 1e6
            }
            lost[port] = of("lost")
        }
        END {
            for (port in n) {
                line = "RTT " name " " port " " n[port] " " sum[port] / n[port]
                part = 0; which = 1; split("0.5 0.95 0.99", shares, " ")
                for (bucket = 0; bucket < 40000 && which < 4; bucket++) {
                    part += seen[port "," bucket]
                    while (which < 4 && part >= n[port] * shares[which]) { line = line " " bucket * 50 + 25; which++ }
                }
                print line
                print "FLOW", name, port, rate[port], lost[port]
            }
        }' > /rows &
    reader=$!
    sleep 0.5
    port=5001
    for algorithm in $(echo $algorithms | tr , " "); do
        serve $algorithm $port
        port=$((port + 1))
    done
    port=5001
    for algorithm in $(echo $algorithms | tr , " "); do
        fetch $port $seconds > /bytes$port &
        echo "BYTES $name $port" > /dev/null
        last=$!
        port=$((port + 1))
    done
    wait $last
    sleep 0.3
    for each in 5001 5002; do test -s /bytes$each && echo "BYTES $name $each $(cat /bytes$each) $seconds"; done
    rm -f /bytes*
    killall sleep
    wait $reader
    cat /rows
    killall httpd
    unload
    echo "DONE $name"
done < /plan
