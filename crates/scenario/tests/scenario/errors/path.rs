//! Wrong impairments and changes of the path.

/// Lines of [`BASE`](super::BASE), each with its replacement.
pub(super) const EDITS: &[(&str, &str)] = &[
    // Impairments and changes.
    (r#"loss = "0%""#, r#"policer = "10mbit""#),
    (r#"loss = "0%""#, r#"policer = 10"#),
    (r#"loss = "0%""#, r#"policer = "10 burst 60kB""#),
    (r#"loss = "0%""#, r#"policer = "10mbit burst 60""#),
    (r#"loss = "0%""#, r#"policer = "10mbit burst 1499B""#),
    (r#"loss = "0%""#, r#"policer = "10mbit burst 2000GB""#),
    (r#"loss = "0%""#, r#"loss = "off""#),
    (r#"loss = "0%""#, r#"loss = "gilbert p 1%""#),
    (r#"loss = "0%""#, r#"loss = "gilbert-elliott r 30%""#),
    (r#"loss = "0%""#, r#"loss = "gilbert-elliott 1% r 30%""#),
    (r#"loss = "0%""#, r#"loss = "gilbert-elliott p 1% p 2%""#),
    (r#"loss = "0%""#, r#"loss = "gilbert-elliott p 0%""#),
    (r#"loss = "0%""#, r#"loss = "gilbert-elliott p 1% r 0%""#),
    (r#"loss = "0%""#, r#"loss = "gilbert-elliott p 1% r 101%""#),
    (r#"loss = "0%""#, r#"loss = "gilbert-elliott p 0.01""#),
    (
        r#"loss = "0%""#,
        r#"loss = "gilbert-elliott p 1% loss-bad 0%""#,
    ),
    (
        r#"loss = "0%""#,
        r#"loss = "gilbert-elliott p 1% loss-good 100%""#,
    ),
    (r#"loss = "0%""#, r#"loss = "every""#),
    (r#"loss = "0%""#, r#"loss = "every 0""#),
    (r#"loss = "0%""#, r#"loss = "every 100 packets""#),
    (r#"loss = "0%""#, r#"loss = "list""#),
    (r#"loss = "0%""#, r#"loss = "list 10, 0""#),
    (r#"loss = "0%""#, r#"loss = "list 10, 11, 10""#),
    (r#"loss = "0%""#, r#"reverse_loss = "list 10 11""#),
    (r#"loss = "0%""#, r#"loss = "list file no-such.txt""#),
    (r#"loss = "0%""#, r#"loss = "list file .""#),
    (
        r#"loss = "0%""#,
        r#"loss = "list file tests/scenario/files/not-numbers.txt""#,
    ),
    (
        r#"loss = "0%""#,
        r#"loss = "list file tests/scenario/files/empty.txt""#,
    ),
    (r#"loss = "0%""#, r#"shaper = "10mbit""#),
    (r#"loss = "0%""#, r#"shaper = "10mbit burst 1499B""#),
    (
        r#"loss = "0%""#,
        r#"shaper = "10mbit burst 60kB limit 10ms""#,
    ),
    (
        r#"loss = "0%""#,
        r#"rate_pattern = "sinus 20mbit..100mbit every 10s""#,
    ),
    (r#"loss = "0%""#, r#"rate_pattern = "100mbit""#),
    (
        r#"loss = "0%""#,
        r#"rate_pattern = "sine 20mbit every 10s""#,
    ),
    (
        r#"loss = "0%""#,
        r#"rate_pattern = "sine 100mbit..20mbit every 10s""#,
    ),
    (
        r#"loss = "0%""#,
        r#"rate_pattern = "sine 0mbit..20mbit every 10s""#,
    ),
    (r#"loss = "0%""#, r#"rate_pattern = "sine 20mbit..100mbit""#),
    (
        r#"loss = "0%""#,
        r#"rate_pattern = "saw 20mbit..100mbit every 10us""#,
    ),
    (
        r#"loss = "0%""#,
        r#"rate_pattern = "walk 20mbit..100mbit every 1s""#,
    ),
    (
        r#"loss = "0%""#,
        r#"rate_pattern = "schedule 0s 20mbit, 5s""#,
    ),
    (r#"loss = "0%""#, r#"rate_pattern = "schedule 1s 20mbit""#),
    (
        r#"loss = "0%""#,
        r#"rate_pattern = "schedule 0s 20mbit, 5s 50mbit, 5s 20mbit""#,
    ),
    (
        r#"loss = "0%""#,
        r#"rate_pattern = "schedule file tests/scenario/files/cut.csv""#,
    ),
    (
        r#"loss = "0%""#,
        r#"rate_pattern = "schedule file tests/scenario/files/empty.txt""#,
    ),
    (
        r#"loss = "0%""#,
        r#"rate_pattern = "mahimahi cellular.trace""#,
    ),
    (r#"loss = "0%""#, r#"rate_pattern = "sat.trace""#),
    (r#"loss = "0%""#, r#"rate_pattern = "file sat.trace""#),
    (r#"loss = "0%""#, r#"loss = "file lost.txt""#),
    (r#"rate = "100mbit""#, r#"rate = "sat.trace""#),
    (r#"rate = "100mbit""#, r#"rate = "file sat.trace""#),
    (
        r#"rate = "100mbit""#,
        r#"rate = "sine 20mbit..100mbit every 10s""#,
    ),
    (
        r#"loss = "0%""#,
        r#"rate_pattern = "mahimahi file no-such.trace""#,
    ),
    (
        r#"loss = "0%""#,
        r#"rate_pattern = "mahimahi file tests/scenario/files/disordered.trace""#,
    ),
    (
        r#"loss = "0%""#,
        r#"rate_pattern = "mahimahi file tests/scenario/files/no-time.trace""#,
    ),
    (
        r#"loss = "0%""#,
        r#"rate_pattern = "mahimahi file tests/scenario/files/empty.txt""#,
    ),
    (
        r#"loss = "0%""#,
        r#"rate_pattern = "mahimahi file tests/scenario/files/binary.trace""#,
    ),
    (
        r#"loss = "0%""#,
        r#"rate_pattern = "mahimahi file tests/scenario/files/rates.csv""#,
    ),
    (
        r#"loss = "0%""#,
        r#"rate_pattern = "mahimahi 1, 2, 1000000001""#,
    ),
    (r#"loss = "0%""#, r#"rate_pattern = "mahimahi 1, -2""#),
    (
        r#"loss = "0%""#,
        r#"rate_pattern = "mahimahi 1, 5 from 5ms""#,
    ),
    (
        r#"loss = "0%""#,
        r#"rate_pattern = "mahimahi 1, 5 from 500us""#,
    ),
    (
        r#"loss = "0%""#,
        r#"rate_pattern = "mahimahi 1, 5 from anywhere""#,
    ),
    (r#"loss = "0%""#, r#"rate_pattern = "mahimahi 1, 5 from""#),
    (
        r#"loss = "0%""#,
        r#"delay_trace = "0s 20ms, 5s 30ms from random""#,
    ),
    (
        r#"loss = "0%""#,
        r#"delay_trace = "0s 20ms, 5s 30ms every 10s from 10s""#,
    ),
    (
        r#"loss = "0%""#,
        r#"rate_pattern = "mahimahi 1, 99999999999999999999""#,
    ),
    (
        r#"loss = "0%""#,
        "rate_pattern = \"saw 20mbit..100mbit every 10s\"\n[[path.change]]\nat = \"10s\"\nrate = \"50mbit\"",
    ),
    (r#"loss = "0%""#, r#"jitter = "5""#),
    (r#"loss = "0%""#, r#"jitter = "5ms reorderd""#),
    (r#"loss = "0%""#, r#"jitter = "101s""#),
    (r#"loss = "0%""#, r#"jitter = "hold 20ms every 10ms""#),
    (r#"loss = "0%""#, r#"jitter = "hold 0ms""#),
    (r#"loss = "0%""#, r#"jitter = "hold 5ms every""#),
    (r#"loss = "0%""#, r#"reverse_jitter = "5ms reorder""#),
    (r#"loss = "0%""#, r#"jitter = "nomal 10ms sigma 2ms""#),
    (r#"loss = "0%""#, r#"jitter = "normal 10ms""#),
    (r#"loss = "0%""#, r#"jitter = "normal 10ms 2ms""#),
    (r#"loss = "0%""#, r#"jitter = "normal 10ms sigma 0ms""#),
    (
        r#"loss = "0%""#,
        r#"jitter = "pareto 10ms sigma 2ms correlation 100%""#,
    ),
    (r#"loss = "0%""#, r#"jitter = "gamma 0ms sigma 2ms""#),
    (r#"loss = "0%""#, r#"jitter = "gamma 10ms sigma 50ms""#),
    (r#"loss = "0%""#, r#"jitter = "histogram""#),
    (r#"loss = "0%""#, r#"jitter = "histogram 0ms 5, 1ms""#),
    (
        r#"loss = "0%""#,
        r#"jitter = "histogram 0ms 5, 1ms -5, 2ms 0""#,
    ),
    (
        r#"loss = "0%""#,
        r#"jitter = "histogram 0ms 5, 1 5, 2ms 0""#,
    ),
    (r#"loss = "0%""#, r#"jitter = "histogram 0ms 5, 1ms 5""#),
    (r#"loss = "0%""#, r#"jitter = "histogram 0ms 0, 1ms 0""#),
    (r#"loss = "0%""#, r#"jitter = "histogram 5ms 5, 1ms 0""#),
    (
        r#"loss = "0%""#,
        r#"jitter = "histogram file tests/scenario/files/losses.txt""#,
    ),
    (r#"loss = "0%""#, r#"wifi = "on""#),
    (r#"loss = "0%""#, r#"wifi = "frames 32""#),
    (r#"loss = "0%""#, r#"wifi = "frames 0 overhead 200us""#),
    (r#"loss = "0%""#, r#"wifi = "frames 32 overhead 0us""#),
    (
        r#"loss = "0%""#,
        r#"wifi = "frames 32 overhead 200us bytes 1kB""#,
    ),
    (r#"loss = "0%""#, r#"suspend = "200ms""#),
    (r#"loss = "0%""#, r#"suspend = "0ms every 2s""#),
    (r#"loss = "0%""#, r#"suspend = "2s every 2s""#),
    (
        r#"loss = "0%""#,
        "suspend = \"200ms every 2s\"\nrate_pattern = \"mahimahi 1, 2, 5\"",
    ),
    (
        r#"loss = "0%""#,
        "rate_pattern = \"mahimahi 1, 2, 5\"\n[[path.change]]\nat = \"10s\"\nwifi = \"frames 32 overhead 200us\"",
    ),
    (r#"loss = "0%""#, r#"change = "10s""#),
    (
        r#"loss = "0%""#,
        "[path.change]\nat = \"10s\"\nrate = \"50mbit\"",
    ),
    (r#"loss = "0%""#, "[[path.change]]\nrate = \"50mbit\""),
    (r#"loss = "0%""#, "[[path.change]]\nat = \"10s\""),
    (
        r#"loss = "0%""#,
        "[[path.change]]\nat = \"0s\"\nrate = \"50mbit\"",
    ),
    (
        r#"loss = "0%""#,
        "[[path.change]]\nat = \"60s\"\nrate = \"50mbit\"",
    ),
    (
        r#"loss = "0%""#,
        "[[path.change]]\nat = \"-1s\"\nrate = \"50mbit\"",
    ),
    (
        r#"loss = "0%""#,
        "[[path.change]]\nat = \"10s\"\nrate = \"0mbit\"",
    ),
    (
        r#"loss = "0%""#,
        "[[path.change]]\nat = \"10s\"\nqueue = \"pfifo\"",
    ),
    (
        r#"loss = "0%""#,
        "[[path.change]]\nat = \"10s\"\nbuffer = \"0packets\"",
    ),
    (
        r#"loss = "0%""#,
        "[[path.change]]\nat = \"10s\"\npolicer = \"off now\"",
    ),
    (
        r#"loss = "0%""#,
        "[[path.change]]\nat = \"10s\"\nrate = \"50mbit\"\n[[path.change]]\nat = \"10000ms\"\nrate = \"60mbit\"",
    ),
    (r#"loss = "0%""#, r#"at = "10s""#),
    (r#"loss = "0%""#, "delay_trace = \"1s 20ms\""),
    (r#"loss = "0%""#, "delay_trace = \"0s 20ms, 0s 30ms\""),
    (r#"loss = "0%""#, "delay_trace = \"0s 20ms, 2s\""),
    (r#"loss = "0%""#, "delay_trace = \"0s 20\""),
    (r#"loss = "0%""#, "delay_trace = \"0s 200s\""),
    (
        r#"loss = "0%""#,
        "delay_trace = \"0s 20ms, 5s 30ms every 5s\"",
    ),
    (r#"loss = "0%""#, "delay_trace = \"0s 20ms again\""),
    (r#"loss = "0%""#, "delay_trace = \"file none.csv\""),
    (
        r#"loss = "0%""#,
        "delay_trace = \"0s 20ms\"\nreverse_delay_trace = \"0s 20ms\"\n[[path.change]]\nat = \"10s\"\nrtt = \"80ms\"",
    ),
];
