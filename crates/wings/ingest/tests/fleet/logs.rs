//! nginx's logs, counters of hosts, and bpftrace's histograms.

use fullpipe_ingest::fleet::address::Privacy;
use fullpipe_ingest::fleet::nginx::{Format, Options};
use fullpipe_ingest::fleet::{Columns, Parse, Values, counters, histogram, nginx};

fn read(mut parser: impl Parse, text: &str) -> (Columns, Vec<String>) {
    parser.begin_file(1_576_576_800_000_000);
    // In pieces, as files are read.
    for piece in text.as_bytes().chunks(37) {
        parser.feed(piece);
    }
    parser.end_file();
    let bad = parser
        .take_bad()
        .into_iter()
        .map(|bad| format!("{}: {}", bad.line, bad.why))
        .collect();
    (parser.take().remove(0).1, bad)
}

fn log(format: &str, keep: &[&str], text: &str) -> (Columns, Vec<String>) {
    let keep = keep.iter().map(|name| (*name).to_owned()).collect();
    let format = Format::parse(format).unwrap();
    read(
        nginx::Reader::new(Options {
            format,
            keep,
            privacy: Privacy::Open,
        }),
        text,
    )
}

fn numbers(columns: &Columns, name: &str) -> Vec<f64> {
    match columns.get(name) {
        Some(Values::Numbers(values)) => values.clone(),
        other => panic!("{name}: {other:?}"),
    }
}

fn texts(columns: &Columns, name: &str) -> Vec<String> {
    match columns.get(name) {
        Some(Values::Texts(values)) => values.clone(),
        other => panic!("{name}: {other:?}"),
    }
}

fn times(columns: &Columns) -> Vec<i64> {
    match columns.get("time") {
        Some(Values::Times(values)) => values.clone(),
        other => panic!("{other:?}"),
    }
}

const DIRECTIVE: &str = r#"log_format fleet '$remote_addr - $remote_user [$time_local] "$request" '
    '$status $bytes_sent $request_time $msec "$http_user_agent" '
    'rtt=$tcpinfo_rtt var=${tcpinfo_rttvar} cwnd=$tcpinfo_snd_cwnd rcv=$tcpinfo_rcv_space '
    'up="$upstream_response_time" cc=$geoip_country_code $connection/$connection_requests';"#;

#[test]
fn a_log_by_its_directive() {
    let text = r#"192.0.2.7 - - [17/Dec/2019:10:00:00 +0000] "GET /a\x22b HTTP/1.1" 200 3000123 1.500 1576576800.250 "agent \x22x\x22 1" rtt=20125 var=10000 cwnd=106 rcv=14600 up="0.100, 0.250" cc=JP 12/3
2001:db8::9 - bob [17/Dec/2019:10:00:01 +0000] "" 400 0 0.000 1576576801.000 "-" rtt=- var=- cwnd=- rcv=- up="-" cc=- 13/1
garbage
"#;
    let (rows, bad) = log(DIRECTIVE, &["http_user_agent"], text);
    assert_eq!(bad, ["3: it does not fit the format"]);
    assert_eq!(times(&rows), [1_576_576_800_250_000, 1_576_576_801_000_000]);
    assert_eq!(numbers(&rows, "bytes_sent"), [3_000_123.0, 0.0]);
    assert_eq!(numbers(&rows, "request_time_s"), [1.5, 0.0]);
    let first = |name| numbers(&rows, name)[0];
    assert_eq!(
        [first("tcpinfo_rtt_s"), first("tcpinfo_rttvar_s")],
        [0.020_125, 0.010]
    );
    assert_eq!(
        [
            first("tcpinfo_snd_cwnd_packets"),
            first("tcpinfo_rcv_space_bytes")
        ],
        [106.0, 14_600.0]
    );
    assert_eq!(
        [
            first("upstream_response_time_s"),
            first("nginx_connection"),
            first("connection_requests")
        ],
        [0.25, 12.0, 3.0]
    );
    assert!(numbers(&rows, "tcpinfo_rtt_s")[1].is_nan());
    assert_eq!(
        [texts(&rows, "client"), texts(&rows, "client_net")],
        [
            ["192.0.2.7", "2001:db8::9"],
            ["192.0.2.0/24", "2001:db8::/48"]
        ]
    );
    assert_eq!(
        [texts(&rows, "country"), texts(&rows, "protocol")],
        [["JP", ""], ["HTTP/1.1", ""]]
    );
    assert_eq!(
        texts(&rows, "kept")[0],
        r#"{"http_user_agent":"agent \\x22x\\x22 1"}"#
    );
}

#[test]
fn the_format_that_nginx_has_by_itself() {
    let text =
        "127.0.0.1 - - [22/Nov/2026:03:00:00 +0900] \"GET / HTTP/2.0\" 206 1234 \"-\" \"curl/8\"\n";
    let (rows, bad) = log("combined", &[], text);
    assert!(bad.is_empty(), "{bad:?}");
    assert_eq!(times(&rows), [1_795_284_000_000_000]);
    assert_eq!(
        [numbers(&rows, "status"), numbers(&rows, "body_bytes_sent")],
        [[206.0], [1234.0]]
    );
}

/// With `escape=json` in a custom format, and with the names of variables as keys.
#[test]
fn logs_that_are_json() {
    let format = r#"log_format j escape=json '{"t":"$msec","ua":"$http_user_agent","rt":$request_time,"s":$status,"b":$body_bytes_sent,"h":"$hostname"}';"#;
    let text = r#"{"t":"1576576800.250","ua":"a \"quoted\" one\",\"rt\":9","rt":2.500,"s":200,"b":5000000,"h":"edge-7"}"#;
    let (rows, bad) = log(format, &[], text);
    assert!(bad.is_empty(), "{bad:?}");
    assert_eq!(
        [
            numbers(&rows, "request_time_s"),
            numbers(&rows, "body_bytes_sent")
        ],
        [[2.5], [5e6]]
    );
    assert_eq!(texts(&rows, "host"), ["edge-7"]);

    let text = "{\"msec\": 1576576800.25, \"request_time\": \"2.5\", \"status\": 200, \"bytes_sent\": 77, \"other\": null}\nno\n{\"status\": 200}\n";
    let (rows, bad) = log("json", &[], text);
    assert_eq!(
        [
            numbers(&rows, "request_time_s"),
            numbers(&rows, "bytes_sent")
        ],
        [[2.5], [77.0]]
    );
    assert_eq!(times(&rows), [1_576_576_800_250_000]);
    assert_eq!(
        bad[1],
        "3: it has no time: msec, time_iso8601 or time_local"
    );
    assert!(bad[0].starts_with("2: it is not a JSON object"), "{bad:?}");
}

/// A request that nginx sent to one server after the other has a list in each variable of them.
#[test]
fn lists_of_upstream_servers_are_whole() {
    let lists = [
        ("192.0.2.1:80", "200", "0.5"),
        ("192.0.2.1:80, 192.0.2.2:80", "502, 200", "0.2, 0.3"),
        ("192.0.2.1:80 : unix:/run/a", "502 : 200", "0.2 : 0.3"),
        (
            "[::1]:80, 192.0.2.2:80 : 192.0.2.3:80",
            "502, 504 : 200",
            "0.1, - : 0.3",
        ),
        ("-", "-", "-"),
    ];
    for separator in [" ", ",", ", ", " | ", "\t"] {
        for reversed in [false, true] {
            let mut names = [
                "msec",
                "upstream_addr",
                "upstream_status",
                "request_time",
                "upstream_response_time",
                "status",
                "bytes_sent",
                "http_x",
            ];
            let mut text = String::new();
            for (address, status, time) in lists {
                let mut values = [
                    "1576576800.250",
                    address,
                    status,
                    "0.500",
                    time,
                    "200",
                    "2000",
                    "x",
                ];
                if reversed {
                    values.reverse();
                }
                text += &(values.join(separator) + "\n");
            }
            if reversed {
                names.reverse();
            }
            let names: Vec<_> = names.iter().map(|name| format!("${name}")).collect();
            let (rows, bad) = log(&names.join(separator), &["upstream_status"], &text);
            assert_eq!(bad, [""; 0], "{separator}");
            assert_eq!(numbers(&rows, "request_time_s"), [0.5; 5], "{separator}");
            assert_eq!(numbers(&rows, "status"), [200.0; 5], "{separator}");
            let upstream = numbers(&rows, "upstream_response_time_s");
            assert_eq!(upstream[..4], [0.5, 0.3, 0.3, 0.3], "{separator}");
            for (kept, (_, status, _)) in texts(&rows, "kept").iter().zip(lists) {
                assert!(
                    status == "-" || kept.contains(&format!("\"{status}\"")),
                    "{kept}"
                );
            }
        }
    }
}

#[test]
fn a_list_in_front_of_any_text_is_whole() {
    let format = "$msec $upstream_addr $http_x $http_x_forwarded_for $request_time";
    let text = "1576576800.250 192.0.2.1:80 : 192.0.2.2:80 any 198.51.100.1, 198.51.100.2 0.500\n";
    let (rows, bad) = log(format, &["http_x"], text);
    assert_eq!(bad, [""; 0]);
    assert_eq!(numbers(&rows, "request_time_s"), [0.5]);
    assert_eq!(texts(&rows, "kept"), [r#"{"http_x":"any"}"#]);
}

#[test]
fn comments_in_a_directive_are_no_part_of_the_format() {
    let format =
        "# log_format old '$status';\nlog_format # the name\n  main # '$uri '\n  escape=default\n
        '$msec ' # it's the time\n    #'$tcpinfo_rttvar '\n  '#$status $request_time' # last\n;";
    let (rows, bad) = log(format, &[], "1576576800.250 #200 0.500\n");
    assert_eq!(bad, [""; 0]);
    assert_eq!(numbers(&rows, "request_time_s"), [0.5]);
}

#[test]
fn a_configuration_with_one_format_is_that_format() {
    let whole = format!(
        "user root;\nhttp {{\n  # log_format is below\n  {DIRECTIVE}\n  access_log /var/log/a fleet;\n}}\n"
    );
    assert_eq!(Format::parse(&whole), Format::parse(DIRECTIVE));
    let two = format!("{DIRECTIVE}\n{DIRECTIVE}");
    assert_eq!(
        Format::parse(&two).unwrap_err().problem,
        "it has 2 log_format directives"
    );
}

#[test]
fn a_format_that_can_not_be_read_is_refused() {
    let problem = |format: &str| Format::parse(format).unwrap_err().problem;
    assert_eq!(
        problem("$status $bytes_sent"),
        "it has none of $msec, $time_iso8601 and $time_local"
    );
    assert_eq!(problem("nothing"), "it has no variables");
    assert_eq!(
        problem("$msec$status"),
        "no text separates $msec from $status, so a line can't be split"
    );
    assert_eq!(
        problem("$msec $ x"),
        "a `$` without a name, in front of ` x`"
    );
    assert_eq!(problem("log_format a 'open;"), "a quote is not closed");
}

/// Counters of a real host (Linux 6.18), shortened.
fn snmp(time: u64, [received, sent, again]: [u64; 3], probes: u64) -> String {
    format!(
        "@{time}
Ip: Forwarding DefaultTTL InReceives
Ip: 1 64 12345
Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets CurrEstab InSegs OutSegs RetransSegs InErrs OutRsts InCsumErrors
Tcp: 1 200 120000 -1 10 20 0 0 5 {received} {sent} {again} 0 3 0
TcpExt: SyncookiesSent TCPFastRetrans TCPLossProbes
TcpExt: 0 7 {probes}
cpu  100 0 50 {} 50 0 0 0 0 0
",
        time * 100
    )
}

#[test]
fn counters_become_increases_over_each_interval() {
    let text = snmp(1_576_576_800, [100, 1000, 10], 1)
        + &snmp(1_576_576_810, [300, 3000, 70], 4)
        + "cpu0 1 2 3 4 5\nnot a counter\n"
        // After a restart, the host counts from zero.
        + &snmp(1_576_576_820, [5, 50, 0], 0)
        + &snmp(1_576_576_840, [15, 150, 1], 0);
    let (rows, bad) = read(counters::Reader::new(false), &text);
    assert!(bad.is_empty(), "{bad:?}");
    assert_eq!(times(&rows), [1_576_576_810_000_000, 1_576_576_840_000_000]);
    assert_eq!(numbers(&rows, "interval_s"), [10.0, 20.0]);
    assert_eq!(
        [numbers(&rows, "in_segs"), numbers(&rows, "out_segs")],
        [[200.0, 10.0], [2000.0, 100.0]]
    );
    assert_eq!(
        [
            numbers(&rows, "retrans_segs"),
            numbers(&rows, "loss_probes")
        ],
        [[60.0, 1.0], [3.0, 0.0]]
    );
    // 100 ticks a second.
    assert_eq!(
        [numbers(&rows, "cpu_s"), numbers(&rows, "cpu_idle_s")],
        [[10.0, 20.0], [10.0, 20.0]]
    );
}

#[test]
fn counters_by_netstat_and_nstat() {
    let netstat = |received, sent, again| {
        format!(
            "Tcp:\n    12 active connection openings\n    {received} segments received\n    {sent} segments sent out\n    {again} segments retransmitted\nTcpExt:\n    3 fast retransmits\n"
        )
    };
    let text = format!(
        "Tue Dec 17 10:00:00 UTC 2019\n{}Tue Dec 17 10:00:30 UTC 2019\n{}",
        netstat(1, 100, 2),
        netstat(11, 300, 6)
    );
    let (rows, _) = read(counters::Reader::new(false), &text);
    assert_eq!(
        [
            numbers(&rows, "interval_s"),
            numbers(&rows, "out_segs"),
            numbers(&rows, "retrans_segs")
        ],
        [[30.0], [200.0], [4.0]]
    );

    let nstat = |sent, again| {
        format!(
            "#kernel\nTcpOutSegs   {sent}   0.0\nTcpRetransSegs   {again}   0.0\nTcpExtTCPTimeouts 1 0.0\n"
        )
    };
    let text = format!("1576576800\n{}1576576810\n{}", nstat(100, 1), nstat(200, 3));
    let (rows, _) = read(counters::Reader::new(false), &text);
    assert_eq!(
        [
            numbers(&rows, "out_segs"),
            numbers(&rows, "retrans_segs"),
            numbers(&rows, "timeouts")
        ],
        [[100.0], [2.0], [0.0]]
    );
}

#[test]
fn a_bad_counter_is_said() {
    let (_, bad) = read(
        counters::Reader::new(false),
        "Tcp: InSegs OutSegs\nTcp: 1\nTcp: InSegs OutSegs\nTcp: 1 x\n",
    );
    assert_eq!(
        bad,
        [
            "2: 2 names of Tcp, but 1 values",
            "4: Tcp OutSegs can't be `x`"
        ]
    );
}

/// From the Dropbox article: time from a packet's entry into fq to its exit, on one of its
/// machines.
const PACING: &str = "Attaching 3 probes...
@us:
[0]               237486 |                                                    |
[1]              8712205 |@@@@@@@@@@@@@@@@@@@@                                |
[2, 4)          21855350 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
[4, 8)           4378933 |@@@@@@@@@@                                          |
[8, 16)           372762 |                                                    |
[16, 32)          178145 |                                                    |
[32, 64)          279016 |                                                    |
[64, 128)         603899 |@                                                   |
[128, 256)       1115705 |@@                                                  |
[256, 512)       2303138 |@@@@@                                               |
[512, 1K)        2702993 |@@@@@@                                              |
[1K, 2K)        11999127 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@                        |
[2K, 4K)         5432353 |@@@@@@@@@@@@                                        |
[4K, 8K)         1823173 |@@@@                                                |
[8K, 16K)         778955 |@                                                   |
[16K, 32K)        385202 |                                                    |
[32K, 64K)        146435 |                                                    |
[64K, 128K)        31369 |                                                    |
";

#[test]
fn a_histogram_of_bpftrace() {
    let (rows, bad) = read(histogram::Reader::new(false), PACING);
    assert!(bad.is_empty(), "{bad:?}");
    assert_eq!(rows.rows(), 18);
    let counts = numbers(&rows, "count");
    assert_eq!(
        counts.iter().sum::<f64>(),
        63_336_246.0,
        "the sum of the article's packets"
    );
    assert_eq!(texts(&rows, "name"), vec!["@us"; 18]);
    // Two modes, at 2 to 4 µs and 1 to 2 ms: both neighbors of a mode have less.
    let modes: Vec<(f64, f64)> = (1..17)
        .filter(|&at| counts[at] > counts[at - 1] && counts[at] > counts[at + 1])
        .map(|at| (numbers(&rows, "low")[at], numbers(&rows, "high")[at]))
        .collect();
    assert_eq!(modes, [(2.0, 4.0), (1024.0, 2048.0)]);
    assert_eq!(numbers(&rows, "high")[17], 131_072.0);
}

#[test]
fn other_buckets_of_bpftrace() {
    let text = "@rtt[eth0, 10.0.0.1]:\n(..., 0)  3 |@|\n[-4, -2)  4 |@|\n[100, ...)  5 |@|\n[1M, 2M)  6 |@|\n[1, 2  7 |@|\n[x, 2)  7 |@|\n\n@count: 17\n";
    let (rows, bad) = read(histogram::Reader::new(false), text);
    assert_eq!(
        numbers(&rows, "low"),
        [f64::NEG_INFINITY, -4.0, 100.0, 1_048_576.0]
    );
    assert_eq!(numbers(&rows, "high")[..2], [0.0, -2.0]);
    assert!(numbers(&rows, "high")[2].is_nan());
    assert_eq!(texts(&rows, "name")[0], "@rtt[eth0, 10.0.0.1]");
    assert_eq!(bad.len(), 2);
}

mod at_random {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_text_makes_them_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), text in "[\\[\\]()@:.,0-9KM| TcpIn\\n\"{}x-]{0,200}") {
            let format = Format::parse(DIRECTIVE).unwrap();
            let options = Options { format, keep: Vec::new(), privacy: Privacy::Open };
            let json = Options { format: Format::Json, keep: Vec::new(), privacy: Privacy::Keyed([1; 16]) };
            let parsers: [Box<dyn Parse>; 4] = [
                Box::new(nginx::Reader::new(options)),
                Box::new(nginx::Reader::new(json)),
                Box::new(counters::Reader::new(false)),
                Box::new(histogram::Reader::new(false)),
            ];
            for mut parser in parsers {
                parser.begin_file(0);
                parser.feed(&bytes);
                parser.feed(text.as_bytes());
                parser.end_file();
                parser.take();
                let state = parser.state();
                prop_assert!(parser.resume(&state));
            }
        }

        #[test]
        fn no_format_does(text in "(log_format )?[ '\"$a-z;={}\\\\]{0,60}") {
            let _ = Format::parse(&text);
        }

        /// A format reads the lines that it writes, whatever values nginx has escaped in them.
        #[test]
        fn what_nginx_writes_is_read(agent in "[^\"\\\\\\p{C}]{0,20}", status in 100u32..600, time in 0u32..100_000) {
            let text = format!("192.0.2.7 [17/Dec/2019:10:00:00 +0000] \"{agent}\" {status} {}.{:03}\n", time / 1000, time % 1000);
            let (rows, bad) = log("$remote_addr [$time_local] \"$http_user_agent\" $status $request_time", &["http_user_agent"], &text);
            prop_assert!(bad.is_empty(), "{:?}", bad);
            prop_assert_eq!(numbers(&rows, "status"), vec![f64::from(status)]);
            prop_assert_eq!(numbers(&rows, "request_time_s"), vec![f64::from(time) / 1000.0]);
        }
    }
}

#[test]
fn bytes_are_counted_over_all_files() {
    let mut reader = counters::Reader::new(false);
    for text in ["a b\n", "c d\nwithout an end"] {
        reader.begin_file(0);
        reader.feed(text.as_bytes());
        reader.end_file();
    }
    let counts = reader.counts();
    let (_, bytes) = counts.iter().find(|(name, _)| *name == "bytes").unwrap();
    assert_eq!(*bytes, 22);
}
