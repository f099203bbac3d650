//! What users are told when a scenario is wrong: every message, in `errors.txt`, to be read by
//! people.
//!
//! `FULLPIPE_BLESS=1 cargo test` rewrites that file; read the difference before you commit it.

use std::fmt::Write as _;

use fullpipe_scenario::Scenario;

const BASE: &str = r#"# Two flows
duration = "60s"
measure_from = "5s"
seed = 1

[path]
rate = "100mbit"
rtt = "50ms"
buffer = "8bdp"
loss = "0%"

[[flow]]
name = "a"
cc = "cubic"
start = "0s"

[[flow]]
cc = "none"
app_rate = "5mbit"
"#;

/// Lines of [`BASE`] and what stands there instead.
const EDITS: &[(&str, &str)] = &[
    // Syntax.
    (r#"duration = "60s""#, "duration = 60s"),
    (r#"cc = "cubic""#, "cc = cubic"),
    (r#"rtt = "50ms""#, "rtt = \"50ms"),
    ("[path]", "[path"),
    ("seed = 1", "seed = 1\nseed = 2"),
    ("seed = 1", "seed = 99999999999999999999"),
    // Keys.
    ("seed = 1", "sede = 1"),
    ("seed = 1", "colour = 1"),
    ("seed = 1", r#""two\nlines" = 1"#),
    (r#"loss = "0%""#, r#"loss_rate = "0%""#),
    (r#"loss = "0%""#, "seed = 3"),
    (r#"name = "a""#, r#"nmae = "a""#),
    (r#"name = "a""#, r#"buffer = "1bdp""#),
    (r#"seed = 1"#, r#"cc = "cubic""#),
    (r#"duration = "60s""#, ""),
    (r#"rate = "100mbit""#, ""),
    (r#"rtt = "50ms""#, ""),
    (r#"buffer = "8bdp""#, ""),
    (r#"cc = "cubic""#, ""),
    ("[path]", "[paht]"),
    ("[path]", "[[path]]"),
    (r#"name = "a""#, "params = 0.7"),
    // Profiles.
    (r#"loss = "0%""#, r#"profile = "let""#),
    (r#"loss = "0%""#, "profile = 5"),
    (r#"rate = "100mbit""#, "profile = \"lte\"\nrate = \"5\""),
    (
        r#"loss = "0%""#,
        "profile = \"loopback\"\n[host]\nwake_max = \"3us\"",
    ),
    // Workloads.
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\n[[workload]]\nsource = \"mawi-2020-06-10\"\nload = 0.5",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\n[[workload]]\ncc = \"cubic\"\nload = 0.5",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\n[[workload]]\ncc = \"cubic\"\nmodel = \"bounded_pareto shape 1.2 min 1kB max 1MB\"",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\n[[workload]]\ncc = \"cubic\"\nmodel = \"repaly\"\nsource = \"mawi-2020-06-10\"",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\n[[workload]]\ncc = \"cubic\"\nmodel = \"bounded_pareto shape 1.2 min 1kB\"\nload = 0.5",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\n[[workload]]\ncc = \"cubic\"\nmodel = \"bounded_pareto shape 1.2 min 1kB max 1MB\"\nload = 1.2",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\n[[workload]]\ncc = \"cubic\"\nmodel = \"bounded_pareto shape 1.2 min 1kB max 1MB\"\nload = 0",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\n[[workload]]\ncc = \"cubic\"\nmodel = \"bounded_pareto shape 1.2 min 1kB max 1MB\"\nload = \"73%\"",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\n[[workload]]\ncc = \"cubic\"\nmodel = \"bounded_pareto shape 1.2 min 1kB max 1MB\"\nload = 0.5\nsource = \"mawi-2020-06-10\"",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\n[[workload]]\ncc = \"cubic\"\nsource = \"flows.parquet\"",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\n[[workload]]\ncc = \"cubic\"\nsource = \"mawi-2020-06-01\"",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\n[[workload]]\ncc = \"cubic\"\nsource = \".\"",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\n[[workload]]\ncc = \"cubic\"\nsource = \"\"",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\n[[workload]]\ncc = \"cubic\"\nsource = \"mawi-2020-06-10\"",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\n[[workload]]\ncc = \"cubic\"\nmodel = \"bounded_pareto shape 1.2 min 1kB max 1MB\"\nload = 0.5\n[[workload]]\ncc = \"cubic\"\nmodel = \"bounded_pareto shape 1.2 min 1kB max 1MB\"\nload = 0.6",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\n[[workload]]\ncc = \"cubic\"\nmodel = \"bounded_pareto shape 1.2 min 1kB max 1MB\"\nload = 0.5\nstart = \"60s\"",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\n[[workload]]\ncc = \"cubic\"\nmodel = \"bounded_pareto shape 1.2 min 1kB max 1MB\"\nload = 0.5\nstart = \"5s\"\nstop = \"5s\"",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\n[[workload]]\ncc = \"cubic\"\nmodel = \"bounded_pareto shape 1.2 min 1kB max 1MB\"\nload = 0.5\nname = \"a\"",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\n[[workload]]\ncc = \"cubic\"\nmodel = \"bounded_pareto shape 1.2 min 1kB max 1MB\"\nload = 0.5\nrtt = \"20ms\"",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\n[[workload]]\ncc = \"cubic\"\nmodel = \"bounded_pareto shape 1.2 min 1kB max 1MB\"\nload = 0.5\nrtt = \"uniform +20ms..+10ms\"",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\n[[workload]]\ncc = \"cubic\"\nmodel = \"bounded_pareto shape 1.2 min 1kB max 1MB\"\nload = 0.5\nrtt = \"lognormal +20ms\"",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\n[[workload]]\ncc = \"cubic\"\nmodel = \"bounded_pareto shape 1.2 min 1kB max 1MB\"\nload = 0.5\nbytes = \"1MB\"",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\n[[workload]]\ncc = \"cubic\"\nmodel = \"bounded_pareto shape 1.2 min 1kB max 1MB\"\nload = 0.5\nfingerprint = \"0123456789abcdef\"",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\n[[workload]]\ncc = \"none\"\nmodel = \"bounded_pareto shape 1.2 min 1kB max 1MB\"\nload = 0.5",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\n[[workload]]\ncc = \"cubic\"\nmodel = \"bounded_pareto shape 1.2 min 1kB max 1MB\"\nload = 0.5\nreceiver_params = { tick = 4 }",
    ),
    // Quantities.
    (r#"duration = "60s""#, "duration = 60"),
    (r#"duration = "60s""#, r#"duration = "60""#),
    (r#"duration = "60s""#, r#"duration = "0s""#),
    (r#"duration = "60s""#, r#"duration = "-1s""#),
    (r#"duration = "60s""#, r#"duration = "1 hour""#),
    (r#"duration = "60s""#, r#"duration = "1000001s""#),
    (r#"duration = "60s""#, "duration = true"),
    (r#"duration = "60s""#, r#"duration = ["60s"]"#),
    (r#"measure_from = "5s""#, r#"measure_from = "60s""#),
    (r#"measure_from = "5s""#, r#"start_jitter = "61s""#),
    (r#"measure_from = "5s""#, r#"send_jitter = "0.1ns""#),
    (r#"measure_from = "5s""#, r#"send_jitter = "101s""#),
    ("seed = 1", "seed = -1"),
    ("seed = 1", "seed = \"one\""),
    (r#"rate = "100mbit""#, r#"rate = "100""#),
    (r#"rate = "100mbit""#, "rate = 100"),
    (r#"rate = "100mbit""#, "rate = 1e8"),
    (r#"rate = "100mbit""#, r#"rate = "100MB""#),
    (r#"rate = "100mbit""#, r#"rate = "0mbit""#),
    (r#"rate = "100mbit""#, r#"rate = "-5mbit""#),
    (r#"rate = "100mbit""#, "rate = -5"),
    (r#"rate = "100mbit""#, r#"rate = "10001gbit""#),
    (r#"rate = "100mbit""#, r#"rate = """#),
    (r#"rate = "100mbit""#, r#"rate = "100m\nbit""#),
    (r#"rtt = "50ms""#, "rtt = 50"),
    (r#"rtt = "50ms""#, r#"rtt = "101s""#),
    (r#"rtt = "50ms""#, r#"rtt = "0ms""#),
    (r#"buffer = "8bdp""#, "buffer = 400"),
    (r#"buffer = "8bdp""#, "buffer = 1.5"),
    (r#"buffer = "8bdp""#, r#"buffer = "0.001bdp""#),
    (r#"buffer = "8bdp""#, r#"buffer = "0packets""#),
    (r#"buffer = "8bdp""#, r#"buffer = "1.5packets""#),
    (r#"buffer = "8bdp""#, r#"buffer = "1499B""#),
    (r#"buffer = "8bdp""#, r#"buffer = "0.1ms""#),
    (r#"buffer = "8bdp""#, r#"buffer = "8xbdp""#),
    (r#"buffer = "8bdp""#, r#"buffer = "large""#),
    (r#"buffer = "8bdp""#, r#"buffer = "1e9bdp""#),
    (r#"buffer = "8bdp""#, r#"buffer = "1000000000000packets""#),
    (r#"loss = "0%""#, "loss = 0.01"),
    (r#"loss = "0%""#, r#"loss = "0.01""#),
    (r#"loss = "0%""#, r#"loss = "100%""#),
    (r#"loss = "0%""#, r#"reverse_loss = "120%""#),
    (r#"loss = "0%""#, r#"loss = "-1%""#),
    (r#"loss = "0%""#, r#"queue = "pfifio""#),
    (r#"loss = "0%""#, r#"queue = "codle""#),
    (r#"loss = "0%""#, "queue = 5"),
    (r#"loss = "0%""#, r#"queue = { target = "5ms" }"#),
    (r#"loss = "0%""#, r#"queue = { kind = "fqcodel" }"#),
    (
        r#"loss = "0%""#,
        r#"queue = { kind = "pfifo", target = "5ms" }"#,
    ),
    (
        r#"loss = "0%""#,
        r#"queue = { kind = "codel", limit = 100 }"#,
    ),
    (
        r#"loss = "0%""#,
        r#"queue = { kind = "codel", taget = "5ms" }"#,
    ),
    (
        r#"loss = "0%""#,
        r#"queue = { kind = "codel", target = 5 }"#,
    ),
    (
        r#"loss = "0%""#,
        r#"queue = { kind = "codel", interval = "0ms" }"#,
    ),
    (
        r#"loss = "0%""#,
        r#"queue = { kind = "codel", ecn = "yes" }"#,
    ),
    (
        r#"loss = "0%""#,
        r#"queue = { kind = "fq_codel", flows = 0 }"#,
    ),
    (
        r#"loss = "0%""#,
        r#"queue = { kind = "fq_codel", flows = "many" }"#,
    ),
    (
        r#"loss = "0%""#,
        r#"queue = { kind = "fq_codel", quantum = 1514 }"#,
    ),
    (r#"loss = "0%""#, r#"queue = { kind = "pie", alpha = "2" }"#),
    (
        r#"loss = "0%""#,
        r#"queue = { kind = "red", min = "30kB", max = "20kB" }"#,
    ),
    (r#"loss = "0%""#, r#"queue = { kind = "red", max = "8MB" }"#),
    (
        r#"loss = "0%""#,
        r#"queue = { kind = "step_ecn", threshold = 65 }"#,
    ),
    (
        r#"loss = "0%""#,
        r#"queue = { kind = "step_ecn", threshold = "1bdp" }"#,
    ),
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
    // Flows.
    (r#"name = "a""#, r#"name = "a b""#),
    (r#"name = "a""#, r#"name = "../a""#),
    (r#"name = "a""#, "name = \"two\\nlines\""),
    (r#"name = "a""#, r#"name = """#),
    (r#"name = "a""#, "name = 1"),
    (r#"name = "a""#, r#"name = "none""#),
    (
        r#"name = "a""#,
        "name = \"a23456789-123456789-123456789-123456789-123456789-123456789-123\"\ncount = 2",
    ),
    (r#"cc = "cubic""#, r#"cc = "cu bic""#),
    (r#"start = "0s""#, r#"start = "60s""#),
    (r#"start = "0s""#, r#"bytes = "0B""#),
    (r#"start = "0s""#, "bytes = 3000000"),
    (r#"start = "0s""#, r#"app_rate = "0mbit""#),
    (r#"start = "0s""#, r#"app = "bulk""#),
    (r#"start = "0s""#, r#"app = "on 2s""#),
    (r#"start = "0s""#, r#"app = "on 2 off 1s""#),
    (r#"start = "0s""#, r#"app = "on 2s off 100kB""#),
    (r#"start = "0s""#, r#"app = "on 0s off 1s""#),
    (r#"start = "0s""#, r#"app = "on 2s off exp 1ns""#),
    (r#"start = "0s""#, r#"app = "request 1s think 1s""#),
    (r#"start = "0s""#, r#"app = "request 0B think 1s""#),
    (
        r#"start = "0s""#,
        r#"app = "request pareto 100kB think 1s""#,
    ),
    (r#"start = "0s""#, r#"app = "request pareto 100kB shape 1""#),
    (
        r#"start = "0s""#,
        "app = \"request 100kB think 1s\"\nbytes = \"1MB\"",
    ),
    (
        r#"start = "0s""#,
        "app = \"on 100kB off 1s\"\napp_rate = \"1mbit\"",
    ),
    (
        r#"start = "0s""#,
        "app = \"on 1s off 1s\"\napp_schedule = \"2s pause\"",
    ),
    (r#"start = "0s""#, r#"app_schedule = "pause""#),
    (r#"start = "0s""#, r#"app_schedule = "2s stop""#),
    (r#"start = "0s""#, r#"app_schedule = "2s 5""#),
    (r#"start = "0s""#, r#"app_schedule = "2 pause""#),
    (
        r#"start = "0s""#,
        r#"app_schedule = "2s pause, 2s unlimited""#,
    ),
    (
        r#"start = "0s""#,
        r#"app_schedule = "2s pause, 60s unlimited""#,
    ),
    (r#"start = "0s""#, r#"rtt = "20ms""#),
    (r#"start = "0s""#, r#"rtt = "+20""#),
    (r#"start = "0s""#, "rtt = 20"),
    (r#"start = "0s""#, "count = 0"),
    (r#"start = "0s""#, "count = 1000000"),
    (r#"start = "0s""#, "count = 1000001"),
    (r#"start = "0s""#, "count = \"10\""),
    (r#"start = "0s""#, r#"pacing = "yes""#),
    (r#"start = "0s""#, "pacing = true"),
    (r#"start = "0s""#, r#"receive_window = "1000B""#),
    (r#"start = "0s""#, r#"receive_window = "auto 6MB""#),
    (r#"start = "0s""#, r#"receive_window = "auto max 6""#),
    (r#"start = "0s""#, r#"receive_window = "auto max 2kB""#),
    (
        r#"start = "0s""#,
        "receive_window = \"auto\"\nreceiver = \"rledbat\"",
    ),
    (r#"start = "0s""#, "delayed_ack = 0"),
    (r#"start = "0s""#, "delayed_ack = 65"),
    (r#"start = "0s""#, r#"ack_delay = "200""#),
    (r#"start = "0s""#, r#"gro = "off""#),
    (r#"start = "0s""#, "params = { beta = [0.7] }"),
    (r#"start = "0s""#, "params = { beta = nan }"),
    (r#"start = "0s""#, r#"receiver = "r ledbat""#),
    (
        r#"start = "0s""#,
        "receiver = \"rledbat\"\nreceiver_params = 60",
    ),
    (
        r#"start = "0s""#,
        "receiver = \"rledbat\"\nreceiver_params = { target = [60] }",
    ),
    (r#"start = "0s""#, "receiver_params = { target = 60 }"),
    (r#"start = "0s""#, r#"ecn = "on""#),
    (r#"start = "0s""#, r#"ecn_feedback = "ece""#),
    // Links and routes.
    (r#"loss = "0%""#, "[link]\nname = \"a\""),
    (
        r#"loss = "0%""#,
        "[[link]]\nrate = \"5mbit\"\nbuffer = \"1bdp\"",
    ),
    (
        r#"loss = "0%""#,
        "[[link]]\nname = \"b\"\nbuffer = \"1bdp\"",
    ),
    (r#"loss = "0%""#, "[[link]]\nname = \"b\"\nrate = \"5mbit\""),
    (
        r#"loss = "0%""#,
        "[[link]]\nname = \"b\"\nrate = \"5mbit\"\nbuffer = \"1bdp\"",
    ),
    (
        r#"loss = "0%""#,
        "[[link]]\nname = \"b\"\nrate = \"5mbit\"\nbuffer = \"1bdp\"\nrtt = \"5ms\"",
    ),
    (
        r#"loss = "0%""#,
        "[[link]]\nname = \"b\"\nrate = \"5mbit\"\nbuffer = \"1packets\"\ndelay = 5",
    ),
    (
        r#"loss = "0%""#,
        "[[link]]\nname = \"b\"\nrate = \"5mbit\"\nbuffer = \"0packets\"",
    ),
    (
        r#"loss = "0%""#,
        "[[link]]\nname = \"b\"\nrate = \"5mbit\"\nqueue = { kind = \"codel\", target = 5 }",
    ),
    (
        r#"loss = "0%""#,
        "[[link]]\nname = \"bottleneck\"\nrate = \"5mbit\"\nbuffer = \"1bdp\"",
    ),
    (
        r#"loss = "0%""#,
        "[[link]]\nname = \"b c\"\nrate = \"5mbit\"\nbuffer = \"1bdp\"",
    ),
    (
        r#"loss = "0%""#,
        "[[link]]\nname = \"b\"\nrate = \"5mbit\"\nbuffer = \"9packets\"\n[[link]]\nname = \"b\"\nrate = \"5mbit\"\nbuffer = \"9packets\"",
    ),
    (r#"loss = "0%""#, r#"ecn = "clear""#),
    (r#"loss = "0%""#, "ack_filter = true"),
    (r#"loss = "0%""#, r#"delay = "5ms""#),
    (r#"start = "0s""#, "route = []"),
    (r#"start = "0s""#, "route = 1"),
    (r#"start = "0s""#, r#"route = ["bottelneck"]"#),
    (r#"start = "0s""#, r#"route = ["bottleneck", "uplink"]"#),
    (r#"start = "0s""#, r#"route = ["bottleneck", 5]"#),
    (r#"start = "0s""#, r#"route = ["bottleneck", "bottleneck"]"#),
    (r#"start = "0s""#, r#"reverse_route = ["up link"]"#),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\nreverse_route = [\"bottleneck\"]",
    ),
    // Unresponsive flows.
    (r#"app_rate = "5mbit""#, ""),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\napp = \"on 1s off 1s\"",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\nbytes = \"3MB\"",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\napp_schedule = \"2s pause\"",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\npacing = \"on\"",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\necn_feedback = \"classic\"",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\nreceiver = \"rledbat\"",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\nreceive_window = \"3MB\"",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\ndelayed_ack = 1",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\nquick_acks = 0",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\nack_delay = \"1ms\"",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\ngro = \"1ms\"",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\nparams = { beta = 0.7 }",
    ),
    // Expectations.
    ("seed = 1", "expect = 0.8"),
    ("seed = 1", "expect = [0.8]"),
    ("seed = 1", r#"expect = ["jain"]"#),
    ("seed = 1", r#"expect = ["jain = 0.8"]"#),
    ("seed = 1", r#"expect = ["0.5 < jain < 0.8"]"#),
    (
        "seed = 1",
        "expect = [\n  \"jain >= 0.8\",\n  \"jane >= 0.8\",\n]",
    ),
    ("seed = 1", r#"expect = ["goodput >= 90mbit"]"#),
    ("seed = 1", r#"expect = ["flow.b.goodput >= 90mbit"]"#),
    ("seed = 1", r#"expect = ["flow.a.goodputt >= 90mbit"]"#),
    ("seed = 1", r#"expect = ["flow.a.colour >= 90mbit"]"#),
    ("seed = 1", r#"expect = ["flow.a.rtt <= 90ms"]"#),
    ("seed = 1", r#"expect = ["flow.a.rtt.p90 <= 90ms"]"#),
    ("seed = 1", r#"expect = ["flow.a.utilisation >= 90%"]"#),
    ("seed = 1", r#"expect = ["link.bottelneck.drops <= 0"]"#),
    (
        "seed = 1",
        r#"expect = ["link.bottleneck.goodput >= 90mbit"]"#,
    ),
    ("seed = 1", r#"expect = ["workload.web.slowdown.p99 < 10"]"#),
    ("seed = 1", r#"expect = ["flow.a.goodput >= 90"]"#),
    ("seed = 1", r#"expect = ["flow.a.goodput >= 0.9 rtt"]"#),
    ("seed = 1", r#"expect = ["flow.a.rtt.p95 <= 90"]"#),
    ("seed = 1", r#"expect = ["flow.a.sent <= 3MB"]"#),
    ("seed = 1", r#"expect = ["jain >= 90mbit"]"#),
    ("seed = 1", r#"expect = ["most of jain >= 0.8"]"#),
    ("seed = 1", r#"expect = ["p101 of jain >= 0.8"]"#),
    // Hosts.
    (r#"loss = "0%""#, "[host]\nsnd = \"3us\""),
    (r#"loss = "0%""#, "[host]\nsend = 3"),
    (r#"loss = "0%""#, "[host]\nbatch = 0"),
    (r#"loss = "0%""#, "[host]\nvariation = \"100%\""),
    (r#"loss = "0%""#, "[[host]]\nsend = \"3us\""),
    (r#"loss = "0%""#, "wake_min = \"5us\""),
    (
        r#"loss = "0%""#,
        "[host]\nwake_median = \"20us\"\nwake_max = \"1ms\"",
    ),
    (
        r#"loss = "0%""#,
        "[host]\nwake_min = \"0s\"\nwake_median = \"20us\"\nwake_max = \"1ms\"",
    ),
    (
        r#"loss = "0%""#,
        "[host]\nwake_min = \"5us\"\nwake_median = \"90us\"\nwake_max = \"1ms\"",
    ),
    (
        r#"loss = "0%""#,
        "[host]\nwake_min = \"5us\"\nwake_median = \"5us\"\nwake_max = \"1us\"",
    ),
    // How this machine runs QUIC.
    (r#"loss = "0%""#, "[quic]\npin = 1"),
    (r#"loss = "0%""#, "[quic]\nserver_cpu = \"first\""),
    (r#"loss = "0%""#, "[quic]\nclient_cpu = 1024"),
    (r#"loss = "0%""#, "[quic]\nbusy_poll = \"50us\""),
];

/// Texts by themselves.
const TEXTS: &[&str] = &[
    "sweep = 3",
    "[sweep]\nrepeat = 0",
    "[sweep]\nsample = \"many\"",
    "[sweep]\nzip = \"path.rate\"",
    "[sweep]\npath.buffer = [\"1bdp\", [\"2bdp\"]]",
    "",
    "duration = \"60s\"",
    "duration = \"60s\"\n[path]",
    "duration = \"60s\"\npath = { rate = \"1mbit\", rtt = \"50ms\", buffer = \"1bdp\" }",
    "duration = \"60s\"\nflow = []\npath = { rate = \"1mbit\", rtt = \"50ms\", buffer = \"9packets\" }",
    "duration = \"60s\"\npath = \"dumbbell\"\nflow = []",
    "duration = \"60s\"\npath = { rate = \"1mbit\", rtt = \"50ms\", buffer = \"9packets\" }\n[flow]\ncc = \"cubic\"",
];

/// Overrides of [`BASE`].
const OVERRIDES: &[(&str, &str)] = &[
    ("path.profile", "wlan"),
    ("path.rate", "100"),
    ("path.rat", "1mbit"),
    ("rate", "1mbit"),
    ("path", "fast"),
    ("path.rate.unit", "mbit"),
    ("colour", "red"),
    ("", ""),
    ("flow", "cubic"),
    ("flow.cc", "cubic"),
    ("flow.N.cc", "cubic"),
    ("flow.00.cc", "cubic"),
    ("flow.2.cc", "cubic"),
    ("path.change", "50mbit"),
    ("path.change.0.rate", "50mbit"),
    ("path.change.rate", "50mbit"),
    ("path.policer", "10mbit"),
    ("link.0.rate", "5mbit"),
    ("flow.0.route", "[\"bottleneck\", \"uplink\"]"),
    ("flow.0.route", "uplink"),
    ("flow.0.route", "[]"),
    ("flow.0", "cubic"),
    ("flow.0.c", "cubic"),
    ("flow.0.params", "0.7"),
    ("flow.0.params.", "0.7"),
    ("flow.0.params.beta", "inf"),
    ("flow.0.receiver_params.", "0.7"),
    ("flow.0.count", "0"),
    ("flow.1.params.beta", "0.7"),
    ("flow.1.cc", "a b"),
    ("duration", "5s"),
    ("duration", "4s"),
    ("sweep", "1bdp"),
    ("sweep.repeat", "30"),
    ("seed", "-1"),
    ("expect", "jain >= 0.8, jain"),
];

fn refusal(text: &str, overrides: &[(String, String)]) -> String {
    match Scenario::parse_with(text, "scenario.toml", overrides, None) {
        Ok(scenario) => panic!("accepted:\n{text}\n{overrides:?}\n{scenario:?}"),
        Err(error) => error.to_string(),
    }
}

/// Each line of `text` behind `mark`.
fn marked(mark: &str, text: &str) -> String {
    text.lines()
        .map(|line| format!("{mark}{line}").trim_end().to_owned() + "\n")
        .collect()
}

#[test]
fn every_message_is_as_reviewed() {
    let mut report = format!(
        "Every wrong scenario of errors.rs, and what users are told.\n\nThe scenario:\n{}",
        marked("  ", BASE)
    );
    report.push_str("\nWith - instead of +\n");
    for (old, new) in EDITS {
        assert_eq!(BASE.matches(&format!("{old}\n")).count(), 1, "{old}");
        let error = refusal(&BASE.replace(&format!("{old}\n"), &format!("{new}\n")), &[]);
        write!(
            report,
            "\n{}{}{error}\n",
            marked("- ", old),
            marked("+ ", new)
        )
        .unwrap();
    }
    report.push_str("\nBy themselves\n");
    for text in TEXTS {
        write!(report, "\n{}{}\n", marked("+ ", text), refusal(text, &[])).unwrap();
    }
    report.push_str("\nWith --set\n");
    for (key, value) in OVERRIDES {
        let error = refusal(BASE, &[((*key).to_owned(), (*value).to_owned())]);
        write!(report, "\n--set {key}={value}\n{error}\n").unwrap();
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scenario/errors.txt");
    if std::env::var_os("FULLPIPE_BLESS").is_some() {
        std::fs::write(file, &report).unwrap();
    }
    let reviewed = std::fs::read_to_string(file).unwrap_or_default();
    for (line, (now, before)) in report.lines().zip(reviewed.lines()).enumerate() {
        assert_eq!(
            now,
            before,
            "errors.txt, line {}; FULLPIPE_BLESS=1 rewrites it",
            line + 1
        );
    }
    assert_eq!(report, reviewed, "FULLPIPE_BLESS=1 rewrites errors.txt");
}

#[test]
fn the_seed_of_the_command_line_is_checked_too() {
    let error = Scenario::parse_with(BASE, "scenario.toml", &[], Some(u64::MAX)).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("scenario.toml with --seed 18446744073709551615: seed = "),
        "{error}"
    );
}

#[test]
fn an_error_tells_its_parts() {
    let text = BASE.replace("100mbit", "100");
    let error = Scenario::parse(&text, "scenario.toml").unwrap_err();
    assert_eq!(
        (error.file(), error.line(), error.key(), error.value()),
        ("scenario.toml", Some(7), "path.rate", "\"100\"")
    );
    assert_eq!(error.problem(), "a rate needs a unit, like \"100mbit\"");
    assert_eq!(error.fix(), "write \"100kbit\", \"100mbit\" or \"100gbit\"");
}

#[test]
fn who_knows_the_algorithms_raises_the_same_errors() {
    let scenario = Scenario::parse(BASE, "scenario.toml").unwrap();
    let flow = &scenario.flows[0];
    let error = scenario.error(
        &flow.key("cc"),
        format_args!("{:?}", flow.cc),
        "no such algorithm",
        "did you mean cubic?",
    );
    assert_eq!(
        error.to_string(),
        "scenario.toml:14: flow.0.cc = \"cubic\": no such algorithm\n  fix: did you mean cubic?"
    );
    // A parameter that is nowhere in the file is reported at its flow.
    let error = scenario.error(
        &scenario.flows[1].key("params.beta"),
        "",
        "missing",
        "give it",
    );
    assert_eq!(error.line(), Some(17));
}
