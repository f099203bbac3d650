# Instructions of algorithms for an ACK: with -icount shift=0 the guest's clock counts instructions, 1 ns each.
measure() { # NAME TARGET LABEL
    /bin/timer /objects/timer.bpf.o $2 $3 > /cost &
    timer=$!
    for wait in $(seq 100); do test -s /cost && break; sleep 0.1; done
    serve $1 5001
    fetch 5001 4 > /dev/null
    killall httpd
    kill $timer
    wait $timer
    cat /cost
}
topology 40 20 "netem rate 40mbit -14 limit 200"
measure bbr bbr_min_tso_segs nothing
measure bbr bbr_main bbr
measure cubic cubictcp_cong_avoid cubic
measure reno tcp_reno_cong_avoid reno
for object in newreno bbr3 bbr2 copa ledbatpp; do
    load $object "" 0
    target=fp_cong_control
    test $object = newreno -o $object = ledbatpp && target=fp_cong_avoid
    measure fp_$object fp:$target fp_$object
    unload
done
