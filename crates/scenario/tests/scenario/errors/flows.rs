//! Wrong flows, links, hosts and conditions.

/// Lines of [`BASE`](super::BASE), each with its replacement.
pub(super) const EDITS: &[(&str, &str)] = &[
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
    (r#"cc = "cubic""#, r#"cc = "./libmine.so""#),
    (r#"cc = "cubic""#, r#"cc = "../my-crate""#),
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
    (r#"start = "0s""#, r#"app_schedule = "2s pause every 2s""#),
    (r#"start = "0s""#, r#"app_schedule = "1us pause every 2us""#),
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
    // Media sources and datagram flows.
    (r#"start = "0s""#, r#"app = "media 50fps""#),
    (
        r#"start = "0s""#,
        r#"app = "media 0fps from 1mbit to 2mbit""#,
    ),
    (
        r#"start = "0s""#,
        r#"app = "media 50fps from 2mbit to 1mbit""#,
    ),
    (
        r#"start = "0s""#,
        r#"app = "media 50fps from 1mbit to 2mbit vary 200%""#,
    ),
    (
        r#"start = "0s""#,
        r#"app = "media 50fps from 1mbit to 2mbit discard 10""#,
    ),
    (
        r#"start = "0s""#,
        "app = \"media 50fps from 1mbit to 2mbit\"\napp_rate = \"1mbit\"",
    ),
    (
        r#"start = "0s""#,
        "app = \"media 50fps from 1mbit to 2mbit\"\ntransport = \"tcp\"",
    ),
    (r#"start = "0s""#, r#"transport = "udp""#),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\ntransport = \"datagram\"",
    ),
    (
        r#"start = "0s""#,
        "transport = \"datagram\"\nbytes = \"3MB\"",
    ),
    (
        r#"start = "0s""#,
        "transport = \"datagram\"\napp = \"on 100kB off 1s\"",
    ),
    (
        r#"start = "0s""#,
        "transport = \"datagram\"\napp = \"request 100kB think 1s\"",
    ),
    (
        r#"start = "0s""#,
        "transport = \"datagram\"\nreceive_window = \"3MB\"",
    ),
    (
        r#"start = "0s""#,
        "transport = \"datagram\"\nreceiver = \"rledbat\"",
    ),
    (
        r#"start = "0s""#,
        "transport = \"datagram\"\necn_feedback = \"classic\"",
    ),
    (
        r#"start = "0s""#,
        "transport = \"datagram\"\nquick_acks = 0",
    ),
    (r#"start = "0s""#, "transport = \"datagram\"\ngro = \"1ms\""),
    (
        r#"start = "0s""#,
        "transport = \"datagram\"\nack_policy = \"linux\"",
    ),
    (
        r#"start = "0s""#,
        "transport = \"datagram\"\n[host]\nsend = \"1us\"",
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
        "app_rate = \"5mbit\"\napp_schedule = \"2s unlimited\"",
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
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\nack_policy = \"fixed\"",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\nsack_compression = \"33%\"",
    ),
    (
        r#"app_rate = "5mbit""#,
        "app_rate = \"5mbit\"\ninitial_window = 20",
    ),
    // Segments.
    (r#"cc = "cubic""#, "cc = \"cubic\"\nmss = 1448"),
    (r#"cc = "cubic""#, "cc = \"cubic\"\nmss = \"87B\""),
    (r#"cc = "cubic""#, "cc = \"cubic\"\nmss = \"65484B\""),
    (
        r#"cc = "cubic""#,
        "cc = \"cubic\"\nmss = \"8948B\"\nreceive_window = \"8999B\"",
    ),
    (
        r#"cc = "cubic""#,
        "cc = \"cubic\"\nmss = \"8948B\"\nreceive_window = \"auto max 17999B\"",
    ),
    (r#"cc = "cubic""#, "cc = \"cubic\"\ninitial_window = 0"),
    (r#"cc = "cubic""#, "cc = \"cubic\"\ninitial_window = 1001"),
    // Rules for ACKs.
    (r#"cc = "cubic""#, "cc = \"cubic\"\nack_policy = \"quick\""),
    (
        r#"cc = "cubic""#,
        "cc = \"cubic\"\nack_policy = \"linux\"\nquick_acks = 2000",
    ),
    (
        r#"cc = "cubic""#,
        "cc = \"cubic\"\nsack_compression = \"100%\"",
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
    ("seed = 1", r#"expect = ["flow.a.color >= 90mbit"]"#),
    ("seed = 1", r#"expect = ["flow.a.rtt <= 90ms"]"#),
    ("seed = 1", r#"expect = ["flow.a.rtt.p90 <= 90ms"]"#),
    ("seed = 1", r#"expect = ["flow.a.utilization >= 90%"]"#),
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
    // Real QUIC.
    (r#"loss = "0%""#, "[quic]\npin = 1"),
    (r#"loss = "0%""#, "[quic]\nserver_cpu = \"first\""),
    (r#"loss = "0%""#, "[quic]\nclient_cpu = 1024"),
    (r#"loss = "0%""#, "[quic]\nbusy_poll = \"50us\""),
];
