# Throughput of a flow over the loopback, by instructions: 1 ns each, so a transfer is limited by the work for it. Rounds
# alternate the algorithms, and for the trace the loads with and without rows.
run() { # LABEL PORT
    bytes=$(timeout 1 wget -q -O - http://127.0.0.1:$2/file | wc -c)
    echo "LOOPBACK $1 $bytes"
}
for object in bbr3 bbr2 copa ledbatpp newreno; do
    rm -f /in$object
    mkfifo /in$object
    plan="{\"algorithm\":\"$object\",\"object\":\"/objects/$object.bpf.o\",\"parameters\":{},\"trace_us\":0,\"default\":false,\"detach\":false}"
    sleep 100000 > /in$object &
    /fullpipe-kernel hold "$plan" < /in$object > /said 2> /errors &
    for wait in $(seq 100); do test -s /said -o -s /errors && break; sleep 0.1; done
    cat /errors
    rm -f /said /errors
done
port=5001
for algorithm in bbr cubic fp_bbr3 fp_bbr2 fp_copa fp_ledbatpp fp_newreno; do
    serve $algorithm $port
    port=$((port + 1))
done
for round in 1 2 3; do
    port=5001
    for algorithm in bbr cubic fp_bbr3 fp_bbr2 fp_copa fp_ledbatpp fp_newreno; do
        run $algorithm $port
        port=$((port + 1))
    done
done
killall httpd
killall sleep
sleep 2
for round in 1 2 3; do
    for interval in 0 10000; do
        load bbr3 "" $interval
        if test $interval != 0; then
            sleep 100000 | /fullpipe-kernel trace 0 0 /objects fp_bbr3 > /rows &
            sleep 0.5
        fi
        serve fp_bbr3 5001
        run trace-$interval 5001
        killall httpd sleep 2> /dev/null
        test $interval != 0 && echo "ROWS $(grep -c connection /rows)"
        unload
    done
done
