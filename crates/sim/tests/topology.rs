//! Routes over several links, in both directions, with figures derived by hand.

use fullpipe_cc::Registry;
use fullpipe_trace::TraceLevel;
use fullpipe_trace::{FlowSummary, LinkSummary, Summary};
use proptest::prelude::*;

use crate::users::of_specifications;

fn summary(text: &str) -> Summary {
    let scenario = of_specifications(text);
    fullpipe_sim::run(&scenario, &Registry::default(), TraceLevel::Off)
        .unwrap_or_else(|error| panic!("{error}"))
        .summary
}

fn mbps(flow: &FlowSummary) -> f64 {
    flow.goodput_bps / 1e6
}

/// Share of payload in a packet.
const PAYLOAD: f64 = 1448.0 / 1500.0;

#[test]
fn the_slower_of_two_links_sets_the_rate_and_the_delays_of_all_make_the_rtt() {
    let run = summary(
        r#"
        duration = "10s"
        path = { rate = "20mbit", rtt = "20ms", buffer = "50packets" }
        link = [
            { name = "second", rate = "4mbit", delay = "6ms", buffer = "50packets" },
            { name = "back", rate = "100mbit", delay = "5ms", buffer = "50packets" },
        ]
        [[flow]]
        cc = "cubic"
        route = ["bottleneck", "second"]
        reverse_route = ["back"]
        [[flow]]
        cc = "bbr1"
        app_rate = "10mbit"
        rtt = "+7ms"
        "#,
    );
    assert!(
        (mbps(&run.flows[0]) - 4.0 * PAYLOAD).abs() < 0.2,
        "{}",
        mbps(&run.flows[0])
    );
    assert!(
        mbps(&run.flows[1]) > 9.8,
        "the other flow gets its demand from the first link"
    );
    assert!(run.links[1].utilization > 0.9);
    // Serialization of a full packet at 1000 (the access link: 10 times the fastest), 20 and 4
    // Mbit/s, and of its ACK at 100 Mbit/s.
    let serialization = 12e3 / 1000e6 + 12e3 / 20e6 + 12e3 / 4e6 + 416.0 / 100e6;
    let least = run.flows[0].rtt_s.min.unwrap();
    assert!((least - (0.031 + serialization)).abs() < 1e-6, "{least}");
    let least = run.flows[1].rtt_s.min.unwrap();
    assert!(
        (least - (0.027 + 12e3 / 1000e6 + 12e3 / 20e6)).abs() < 1e-6,
        "{least}"
    );
}

/// A flow over three links of 10 Mbit/s, and one over each link, all unresponsive at the same rate.
fn lot(queue: &str, rate: &str) -> Summary {
    let links: Vec<String> = ["second", "third"]
        .map(|name| {
            format!(
                "[[link]]\nname = \"{name}\"\nrate = \"10mbit\"\nbuffer = \"100packets\"\n{queue}\n"
            )
        })
        .into();
    let crossing: Vec<String> = ["bottleneck", "second", "third"]
        .map(|name| {
            format!(
                "[[flow]]\nname = \"over-{name}\"\ncc = \"none\"\n{rate}\nroute = [\"{name}\"]\n"
            )
        })
        .into();
    summary(&format!(
        "duration = \"20s\"\nmeasure_from = \"1s\"\nsend_jitter = \"1ms\"\n[path]\nrate = \"10mbit\"\nrtt = \"10ms\"\n\
         buffer = \"100packets\"\n{queue}\n{}\
         [[flow]]\nname = \"long\"\ncc = \"none\"\n{rate}\nroute = [\"bottleneck\", \"second\", \"third\"]\n{}",
        links.concat(),
        crossing.concat(),
    ))
}

#[test]
fn a_parking_lot_with_room_carries_all_and_is_used_by_what_it_carries() {
    let run = lot("", "app_rate = \"4mbit\"");
    for flow in &run.flows {
        assert!(
            (mbps(flow) - 4.0).abs() < 0.01,
            "{}: {}",
            flow.name,
            mbps(flow)
        );
    }
    for link in &run.links {
        assert!(
            (link.utilization - 0.8 / PAYLOAD).abs() < 0.002,
            "{}: {}",
            link.name,
            link.utilization
        );
        assert_eq!(link.drops, 0);
    }
}

#[test]
fn a_full_parking_lot_of_fair_queues_gives_half_of_each_link_to_either() {
    let run = lot("queue = \"fq_codel\"", "app_rate = \"8mbit\"");
    for flow in &run.flows {
        assert!(
            (mbps(flow) - 5.0 * PAYLOAD).abs() < 0.05,
            "{}: {}",
            flow.name,
            mbps(flow)
        );
    }
    assert!(run.links.iter().all(|link| link.utilization > 0.9999));
    assert!(
        run.links[1].drops > 0 && run.links[2].drops > 0,
        "flows over the later links lose their part above one half"
    );
}

/// Ratio of a NewReno flow over all of `links` links of 10 Mbit/s with RED to the mean of the flows
/// over one link each.
fn newreno_in_a_lot(links: usize) -> f64 {
    let ratios = (1..=5).map(|seed| {
        let names: Vec<String> = (1..links).map(|i| format!("link-{i}")).chain(["bottleneck".to_owned()]).collect();
        let queue = "buffer = \"120packets\"\nqueue = { kind = \"red\", min = \"15kB\", max = \"60kB\", probability = 0.1 }";
        let mut text = format!(
            "duration = \"60s\"\nmeasure_from = \"10s\"\nseed = {seed}\nstart_jitter = \"100ms\"\nsend_jitter = \"1ms\"\n\
             [path]\nrate = \"10mbit\"\nrtt = \"100ms\"\n{queue}\n"
        );
        for name in &names[..links - 1] {
            text += &format!("[[link]]\nname = \"{name}\"\nrate = \"10mbit\"\n{queue}\n");
        }
        text += &format!("[[flow]]\nname = \"long\"\ncc = \"newreno\"\nroute = {names:?}\n");
        for name in &names {
            text += &format!("[[flow]]\nname = \"over-{name}\"\ncc = \"newreno\"\nroute = [\"{name}\"]\n");
        }
        let run = summary(&text);
        let (long, others) = run.flows.split_first().expect("there are flows");
        mbps(long) * others.len() as f64 / others.iter().map(mbps).sum::<f64>()
    });
    ratios.sum::<f64>() / 5.0
}

#[test]
fn each_further_bottleneck_costs_a_loss_based_flow_as_the_square_root_law_says() {
    // A rate is proportional to 1 / (RTT √p) (Mathis et al. 1997). Over k bottlenecks p is k times
    // as large, and each queue adds its delay, here about 20 to 30 ms on 100 ms.
    for (links, law) in [
        (1, 1.0),
        (2, 1.0 / 2_f64.sqrt() * 125.0 / 150.0),
        (4, 1.0 / 2.0 * 125.0 / 200.0),
    ] {
        let ratio = newreno_in_a_lot(links);
        println!("{links} links: {ratio:.3}, formula {law:.3}");
        assert!(
            (0.7..1.4).contains(&(ratio / law)),
            "{links} links: {ratio} instead of {law}"
        );
    }
}

/// A download at 10 Mbit/s whose ACKs use a link of 100 kbit/s. `back` has further keys of that
/// link, `more` those of the flow.
fn asymmetric(back: &str, more: &str) -> (FlowSummary, LinkSummary) {
    let mut run = summary(&format!(
        "duration = \"40s\"\nmeasure_from = \"10s\"\n[path]\nrate = \"10mbit\"\nrtt = \"50ms\"\nbuffer = \"1bdp\"\n\
         [[link]]\nname = \"back\"\nrate = \"100kbit\"\n{back}\n\
         [[flow]]\ncc = \"cubic\"\nreverse_route = [\"back\"]\n{more}\n"
    ));
    (run.flows.remove(0), run.links.remove(1))
}

#[test]
fn acks_that_all_wait_for_their_turn_clock_the_data_to_their_own_rate() {
    // RFC 3449 §2.1: the link carries 100 kbit/s / (52 · 8 bit) = 240 ACKs/s, each for two
    // segments.
    let (flow, link) = asymmetric("buffer = \"1000packets\"", "receive_window = \"300kB\"");
    let expected = 100e3 / (52.0 * 8.0) * 2.0 * 1448.0 * 8.0 / 1e6;
    assert!(
        (mbps(&flow) - expected).abs() < 0.01 * expected,
        "{} of {expected}",
        mbps(&flow)
    );
    assert!(link.utilization > 0.999);
    assert_eq!(
        (link.ack_drops, flow.ack_drops, flow.retransmits),
        (0, 0, 0)
    );
    // 300 kB are in flight, most of them in the form of waiting ACKs.
    let rtt = flow.rtt_s.mean.unwrap();
    let window = (300_000 / 1448 * 1448) as f64;
    assert!(
        (rtt - window * 8.0 / (expected * 1e6)).abs() < 0.01 * rtt,
        "{rtt}"
    );
}

#[test]
fn acks_that_are_dropped_or_replaced_let_the_data_go_on() {
    for queue in [
        "buffer = \"10packets\"",
        "queue = { kind = \"codel\", target = \"10ms\" }",
    ] {
        let (flow, link) = asymmetric(queue, "");
        assert!(mbps(&flow) > 8.5, "{queue}: {}", mbps(&flow));
        assert!(
            link.ack_drops > 1000 && flow.ack_drops == link.ack_drops,
            "{queue}: {link:?}"
        );
        assert_eq!(
            (link.drops, link.packets, link.acks_filtered),
            (0, 0, 0),
            "counts of data include only data"
        );
        assert!(link.acks > 7000, "{link:?}");
    }
    for queue in [
        "buffer = \"1000packets\"",
        "queue = { kind = \"codel\", target = \"10ms\" }",
        "queue = \"cake\"",
    ] {
        let (flow, link) = asymmetric(&format!("{queue}\nack_filter = \"on\""), "");
        assert!(mbps(&flow) > 9.0, "{queue}: {}", mbps(&flow));
        assert!(link.acks_filtered > 1000, "{queue}: {link:?}");
        // At most the ACK being sent and one that waits, except for duplicates during recovery.
        assert!(link.queue_delay_s.p95.unwrap() < 0.010, "{queue}: {link:?}");
    }
}

#[test]
fn acks_that_chance_takes_before_any_link_are_counted_at_their_flow() {
    let run = |queue: &str| {
        summary(&format!(
            "duration = \"10s\"\n[path]\nrate = \"10mbit\"\nrtt = \"20ms\"\nreverse_loss = \"every 10\"\nbuffer = \"1bdp\"\n\
             {queue}\n[[link]]\nname = \"back\"\nrate = \"100mbit\"\nbuffer = \"100packets\"\n\
             [[flow]]\ncc = \"cubic\"\nreverse_route = [\"back\"]\n"
        ))
    };
    for queue in ["", "queue = \"codel\"", "[host]\nack = \"1us\""] {
        let run = run(queue);
        let (flow, back) = (&run.flows[0], &run.links[1]);
        assert_eq!((back.ack_drops, run.links[0].acks), (0, 0), "{queue}");
        // One of ten, except for ACKs in flight at the end.
        assert!(
            back.acks > 3000 && flow.ack_drops.abs_diff(back.acks / 9) <= 10,
            "{queue}: {flow:?} {back:?}"
        );
    }
}

#[test]
fn an_upload_in_a_large_queue_starves_a_download_of_its_acks_and_a_fair_queue_does_not() {
    let run = |queue: &str| {
        summary(&format!(
            "duration = \"60s\"\nmeasure_from = \"20s\"\n[path]\nrate = \"20mbit\"\nrtt = \"30ms\"\nbuffer = \"1bdp\"\n\
             [[link]]\nname = \"uplink\"\nrate = \"1mbit\"\n{queue}\n\
             [[flow]]\nname = \"download\"\ncc = \"newreno\"\nreverse_route = [\"uplink\"]\nreceive_window = \"256kB\"\n\
             [[flow]]\nname = \"upload\"\ncc = \"newreno\"\nroute = [\"uplink\"]\nreverse_route = [\"bottleneck\"]\n"
        ))
    };
    let (full, fair) = (run("buffer = \"100packets\""), run("queue = \"fq_codel\""));
    // 100 packets take 1.2 s on the uplink, so a window of 256 kB per RTT is far from 20 Mbit/s.
    assert!(
        mbps(&full.flows[0]) < 4.0 && full.flows[0].rtt_s.mean.unwrap() > 0.3,
        "{:?}",
        full.flows[0]
    );
    assert!(
        mbps(&fair.flows[0]) > 17.0 && fair.flows[0].rtt_s.p95.unwrap() < 0.1,
        "{:?}",
        fair.flows[0]
    );
    for run in [full, fair] {
        assert!(run.links[1].utilization > 0.95, "{:?}", run.links[1]);
        assert!(run.links[1].acks > 0 && run.links[0].acks > 0);
    }
}

#[test]
fn behind_a_link_that_strips_ecn_queues_drop_what_they_would_mark() {
    let run = |ecn: &str| {
        summary(&format!(
            "duration = \"10s\"\npath = {{ rate = \"10mbit\", rtt = \"20ms\", queue = {{ kind = \"codel\", ecn = true }} }}\n\
             link = [{{ name = \"access\", rate = \"50mbit\", buffer = \"100packets\", ecn = \"{ecn}\" }}]\n\
             [[flow]]\ncc = \"cubic\"\necn = \"ect0\"\nroute = [\"access\", \"bottleneck\"]\n"
        ))
    };
    let (kept, stripped) = (run("keep"), run("strip"));
    assert!(
        kept.flows[0].marks > 0 && kept.flows[0].drops == 0,
        "{:?}",
        kept.flows[0]
    );
    assert!(
        stripped.flows[0].marks == 0 && stripped.flows[0].drops > 0,
        "{:?}",
        stripped.flows[0]
    );
}

#[test]
fn marks_that_are_stripped_further_on_are_not_heard_of() {
    let run = |ecn: &str| {
        summary(&format!(
            "duration = \"10s\"\npath = {{ rate = \"10mbit\", rtt = \"20ms\", buffer = \"1000packets\", \
             queue = {{ kind = \"step_ecn\", threshold = \"20packets\" }} }}\n\
             link = [{{ name = \"exit\", rate = \"50mbit\", buffer = \"100packets\", ecn = \"{ecn}\" }}]\n\
             [[flow]]\ncc = \"cubic\"\necn = \"ect0\"\nroute = [\"bottleneck\", \"exit\"]\n"
        ))
    };
    let (kept, stripped) = (run("keep"), run("strip"));
    assert!(
        kept.flows[0].queue_delay_s.mean.unwrap() < 0.030,
        "{:?}",
        kept.flows[0]
    );
    assert!(
        stripped.flows[0].marks > 0 && stripped.flows[0].queue_delay_s.mean.unwrap() > 0.2,
        "{:?}",
        stripped.flows[0]
    );
}

fn queue() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("buffer = \"9packets\""),
        Just("buffer = \"20kB\"\nqueue = \"bfifo\"\npolicer = \"9mbit burst 9kB\""),
        Just("queue = { kind = \"codel\", target = \"1ms\", interval = \"10ms\" }"),
        Just("queue = { kind = \"fq_codel\", flows = 3, target = \"1ms\", interval = \"10ms\" }"),
        Just("queue = { kind = \"pie\", target = \"1ms\", tupdate = \"3ms\" }"),
        Just("queue = { kind = \"cake\", rtt = \"10ms\" }"),
        Just("buffer = \"30kB\"\nqueue = { kind = \"red\", min = \"3kB\", max = \"9kB\" }"),
        Just("queue = { kind = \"dualpi2\", target = \"1ms\", tupdate = \"3ms\" }"),
        Just(
            "buffer = \"20packets\"\nqueue = { kind = \"step_ecn\", threshold = \"3packets\", drop_not_ect = true }"
        ),
    ]
}

/// Impairments besides the links. Bursts of lost ACKs are short: in a long one, each timeout yields
/// one ACK, and backoff could outlast the run.
fn line() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just(""),
        Just(
            "duplicate = \"3%\"\nreverse_duplicate = \"3%\"\nreverse_loss = \"gilbert-elliott p 1% r 90%\"\n"
        ),
        Just("jitter = \"3ms reorder\"\nreverse_jitter = \"hold 4ms\"\nduplicate = \"1%\"\n"),
        Just("jitter = \"gamma 2ms sigma 1ms\"\nreverse_loss = \"every 9\"\n"),
    ]
}

fn link(name: &'static str) -> impl Strategy<Value = String> {
    (1_u32..20, 0_u32..9, queue(), 0_u32..3, any::<bool>()).prop_map(move |(rate, delay, queue, loss, filter)| {
        format!(
            "[[link]]\nname = \"{name}\"\nrate = \"{rate}mbit\"\ndelay = \"{delay}ms\"\n{queue}\nloss = \"{loss}%\"\n\
             ack_filter = \"{}\"\n",
            if filter { "on" } else { "off" }
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// All flows use the same links until their transfers end: no packet stays in flight.
    #[test]
    fn what_goes_into_a_link_comes_out_or_is_dropped(
        second in link("second"), third in link("third"), back in link("back"), front in link("front"),
        queue in queue(), line in line(), seed in 0_u64..1_000,
        flows in prop::collection::vec((1_u32..200, 0_u32..500), 1..4),
    ) {
        let mut text = format!(
            "duration = \"100s\"\nseed = {seed}\n[path]\nrate = \"9mbit\"\nrtt = \"9ms\"\nloss = \"1%\"\n{queue}\n{line}\
             {second}{third}{back}{front}"
        );
        for (size, start) in &flows {
            text += &format!(
                "[[flow]]\ncc = \"cubic\"\nbytes = \"{size}kB\"\nstart = \"{start}ms\"\n\
                 route = [\"second\", \"bottleneck\", \"third\"]\nreverse_route = [\"back\", \"front\"]\n"
            );
        }
        let run = summary(&text);
        prop_assert!(run.flows.iter().all(|flow| flow.completion_s.is_some_and(|time| time < 90.0)), "{text}");
        let [bottleneck, second, third, back, front] = &run.links[..] else { panic!("five links") };
        let lost = |link: &LinkSummary| link.drops + link.losses + link.policed;
        let sent: u64 = run.flows.iter().map(|flow| flow.sent).sum();
        prop_assert_eq!(sent + second.duplicates, second.packets + lost(second));
        prop_assert_eq!((bottleneck.duplicates, third.duplicates), (0, 0), "duplication happens in front of the first link");
        prop_assert_eq!(second.packets, bottleneck.packets + lost(bottleneck));
        prop_assert_eq!(bottleneck.packets, third.packets + lost(third));
        prop_assert_eq!(back.acks, front.acks + front.ack_drops + front.acks_filtered);
        prop_assert_eq!(run.flows.iter().map(|flow| flow.drops).sum::<u64>(), run.links.iter().map(lost).sum::<u64>());
        let ack_drops = run.flows.iter().map(|flow| flow.ack_drops).sum::<u64>();
        let at_links = run.links.iter().map(|link| link.ack_drops).sum::<u64>();
        prop_assert!(ack_drops == at_links || ack_drops > at_links && line.contains("reverse_loss"));
        prop_assert_eq!((bottleneck.acks, back.packets, front.packets), (0, 0, 0));
    }
}
