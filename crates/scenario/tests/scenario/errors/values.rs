//! Wrong syntax, keys and quantities.

/// Lines of [`BASE`](super::BASE), each with its replacement.
pub(super) const EDITS: &[(&str, &str)] = &[
    // Syntax.
    (r#"duration = "60s""#, "duration = 60s"),
    (r#"cc = "cubic""#, "cc = cubic"),
    (r#"rtt = "50ms""#, "rtt = \"50ms"),
    ("[path]", "[path"),
    ("seed = 1", "seed = 1\nseed = 2"),
    ("seed = 1", "seed = 99999999999999999999"),
    // Keys.
    ("seed = 1", "sede = 1"),
    ("seed = 1", "color = 1"),
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
        "app_rate = \"5mbit\"\n[[link]]\nname = \"second\"\nrate = \"40mbit\"\nbuffer = \"1bdp\"\n[[workload]]\ncc = \"cubic\"\nmodel = \"bounded_pareto shape 1.2 min 1kB max 1MB\"\nname = \"web\"\nload = 0.6\nroute = [\"bottleneck\", \"second\"]\n[[workload]]\ncc = \"cubic\"\nmodel = \"bounded_pareto shape 1.2 min 1kB max 1MB\"\nname = \"video\"\nload = 0.6\nroute = [\"second\"]\n",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\n[[link]]\nname = \"second\"\nrate = \"40mbit\"\nbuffer = \"1bdp\"\n[[workload]]\ncc = \"cubic\"\nmodel = \"bounded_pareto shape 1.2 min 1kB max 1MB\"\nload = 0.7\n[[workload]]\ncc = \"cubic\"\nmodel = \"bounded_pareto shape 1.2 min 1kB max 1MB\"\nload = 0.2\n[[workload]]\ncc = \"cubic\"\nmodel = \"bounded_pareto shape 1.2 min 1kB max 1MB\"\nload = 0.6\nroute = [\"bottleneck\", \"second\"]\n",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\n[[workload]]\ncc = \"cubic\"\nmodel = \"bounded_pareto shape 1.2 min 1kB max 1MB\"\nload = 0.22\n[[workload]]\ncc = \"cubic\"\nmodel = \"bounded_pareto shape 1.2 min 1kB max 1MB\"\nload = 0.22\n[[workload]]\ncc = \"cubic\"\nmodel = \"bounded_pareto shape 1.2 min 1kB max 1MB\"\nload = 0.22\n[[workload]]\ncc = \"cubic\"\nmodel = \"bounded_pareto shape 1.2 min 1kB max 1MB\"\nload = 0.22\n[[workload]]\ncc = \"cubic\"\nmodel = \"bounded_pareto shape 1.2 min 1kB max 1MB\"\nload = 0.22\n",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\n[[workload]]\ncc = \"cubic\"\nmodel = \"bounded_pareto shape 1.2 min 1kB max 1MB\"\nload = 0.99\n[[workload]]\ncc = \"cubic\"\nmodel = \"bounded_pareto shape 1.2 min 1kB max 1MB\"\nload = 0.6\nstart = \"5s\"\n",
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
    (r#"measure_from = "5s""#, r#"measure_from = "automatic""#),
    (r#"measure_from = "5s""#, r#"measure_from = 5"#),
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
];
