//! Datagram flows: nothing is sent again, and nothing waits for a lost packet.

use fullpipe_cc::{
    Ack, AnyController, Context, Controller, Decision, Descriptor, Lost, Marks, RecoveryOwner,
    Registry, Signals,
};
use fullpipe_scenario::Scenario;
use fullpipe_sim::run;
use fullpipe_trace::{Data, Run, Summary, TraceLevel};
use fullpipe_units::Bytes;

/// A window of 100 packets, whatever happens.
#[derive(Debug)]
struct Fixed;

static FIXED: Descriptor = Descriptor {
    name: "fixed",
    purpose: "",
    specifications: &[],
    params: &[],
    profiles: &[],
    preset_of: None,
    fields: &[],
    recovery: RecoveryOwner::Own,
    needs: Signals::NONE,
    marks: |_| Marks::Ignored,
    random: false,
    build: |_, _| AnyController::User(Box::new(Fixed)),
};

impl Controller for Fixed {
    fn on_lost(&mut self, _: &mut Context<'_>, _: &Lost) {}
    fn on_ack(&mut self, _: &mut Context<'_>, _: &Ack) {}
    fn decision(&self) -> Decision {
        Decision::window(Bytes::new(144_800), Bytes::MAX)
    }
    fn observe(&self, _: &mut Vec<f64>) {}
}

fn runs(path: &str, flows: &str, trace: TraceLevel) -> Run {
    let text = format!("duration = \"20s\"\n[path]\n{path}\n{flows}");
    let scenario = Scenario::parse(&text, "test.toml").unwrap_or_else(|error| panic!("{error}"));
    let registry = Registry::default().with(&FIXED);
    run(&scenario, &registry, trace).unwrap_or_else(|error| panic!("{error}"))
}

fn summary(path: &str, flows: &str) -> Summary {
    runs(path, flows, TraceLevel::Off).summary
}

const PATH: &str = "rate = \"10mbit\"\nrtt = \"40ms\"\nbuffer = \"2bdp\"";
/// 50 frames of 2500 bytes per second, in packets of 1448 and 1052 bytes of payload.
const MEDIA: &str = "[[flow]]\ncc = \"fixed\"\napp = \"media 50fps from 1mbit to 1mbit\"";

#[test]
fn the_delay_of_a_frame_is_that_of_its_last_packet() {
    let flow = &summary(PATH, MEDIA).flows[0];
    // The first packet reaches the link after 0.12 ms on the access link, and takes 1.2 ms there;
    // the second waits for it and takes 0.8832 ms. The propagation delay is 20 ms.
    let expected = 0.12e-3 + 1.2e-3 + 0.8832e-3 + 20e-3;
    for delay in [flow.frame_delay_s.min, flow.frame_delay_s.max] {
        let delay = delay.expect("there are frames");
        assert!((delay - expected).abs() < 1e-8, "{delay}");
    }
    // The frames of 19.98 and 20 s arrive after the end.
    assert_eq!((flow.frames, flow.lost_frames), (999, 2));
    assert_eq!((flow.sent, flow.retransmits), (2_002, 0));
    let rate = 999.0 * 2_500.0 * 8.0 / 20.0;
    assert!(
        (flow.goodput_bps - rate).abs() < 1500.0 * 8.0,
        "{}",
        flow.goodput_bps
    );
}

#[test]
fn a_lost_packet_delays_nothing_and_is_not_sent_again() {
    let lossy = format!("{PATH}\nloss = \"3%\"");
    let clean = summary(PATH, MEDIA).flows.remove(0);
    let flow = summary(&lossy, MEDIA).flows.remove(0);
    assert_eq!((flow.retransmits, flow.sent), (0, clean.sent));
    assert!((30..90).contains(&flow.drops), "{} of 2000", flow.drops);
    // The sender has seen all losses, but perhaps those at the end of the run.
    let seen = flow.loss_fraction * flow.sent as f64;
    assert!(
        (seen - flow.drops as f64).abs() <= 2.0,
        "{seen} of {}",
        flow.drops
    );
    // A frame is lost with one of its packets.
    assert!((flow.drops - 8..=flow.drops + 2).contains(&flow.lost_frames));
    assert_eq!(flow.frame_delay_s.max, clean.frame_delay_s.max);
}

#[test]
fn a_congestion_control_fills_the_path_as_over_tcp() {
    for cc in ["newreno", "cubic", "bbr3", "copa"] {
        let [tcp, datagram] = ["tcp", "datagram"].map(|transport| {
            let flows =
                format!("[[flow]]\ncc = \"{cc}\"\ntransport = \"{transport}\"\ndelayed_ack = 2");
            summary(PATH, &flows).flows.remove(0)
        });
        let share = datagram.goodput_bps / tcp.goodput_bps;
        assert!((0.95..=1.05).contains(&share), "{cc}: {share}");
        assert_eq!(datagram.retransmits, 0);
        // Losses of the last round trip are not declared.
        let seen = datagram.loss_fraction * datagram.sent as f64;
        let drops = datagram.drops as f64;
        assert!((seen - drops).abs() <= 100.0, "{cc}: {seen} of {drops}");
    }
}

#[test]
fn a_flow_survives_the_loss_of_everything_in_flight() {
    let path = format!(
        "{PATH}\n[[path.change]]\nat = \"5s\"\nloss = \"99.99%\"\n[[path.change]]\nat = \"7s\"\nloss = \"0%\""
    );
    for cc in ["cubic", "bbr3", "copa"] {
        let flows = format!("[[flow]]\ncc = \"{cc}\"\ntransport = \"datagram\"");
        let run = runs(
            &path,
            &flows,
            TraceLevel::Every(fullpipe_units::Span::from_millis(100)),
        );
        let trace = run.trace.expect("it was asked for");
        let table = trace.tables.iter().find(|table| table.name == "flows");
        let column = |name: &str| {
            let mut columns = table.expect("the flows' table").columns.iter();
            match &columns
                .find(|column| column.name == name)
                .expect("a column")
                .data
            {
                Data::U64(values) => values.to_vec(),
                _ => panic!("{name} is a count"),
            }
        };
        let (times, delivered) = (column("time"), column("delivered"));
        let at = |time: f64| {
            let row = times.iter().rposition(|at| *at as f64 * 1e-9 <= time);
            delivered[row.expect("a row")] as f64
        };
        let (before, dark, after) = (at(5.0) - at(4.0), at(6.9) - at(5.2), at(20.0) - at(15.0));
        assert!(dark < 0.01 * before, "{cc}: {dark} of {before}");
        assert!(
            after > 3.0 * before,
            "{cc}: {after} in 5 s, {before} in 1 s"
        );
    }
}

#[test]
fn marks_are_reported_before_anything_is_dropped() {
    let path = format!("{PATH}\nqueue = {{ kind = \"step_ecn\", threshold = \"20packets\" }}");
    let flows = "[[flow]]\ncc = \"dctcp\"\ntransport = \"datagram\"";
    let summary = summary(&path, flows);
    let flow = &summary.flows[0];
    assert!(flow.marks > 100, "{}", flow.marks);
    assert_eq!((flow.drops, flow.loss_fraction), (0, 0.0));
    assert!(flow.goodput_bps > 9e6, "{}", flow.goodput_bps);
}

#[test]
fn a_source_without_a_rate_of_the_congestion_control_keeps_its_maximum() {
    let media = MEDIA.replace("from 1mbit", "from 100kbit");
    assert_eq!(summary(PATH, &media).flows, summary(PATH, MEDIA).flows);
}

#[test]
fn frames_that_wait_too_long_are_discarded() {
    let slow = PATH
        .replace("10mbit", "800kbit")
        .replace("2bdp", "10packets");
    let media = "[[flow]]\ncc = \"cubic\"\napp = \"media 50fps from 1mbit to 1mbit";
    let all = summary(&slow, &format!("{media}\"")).flows.remove(0);
    let some = summary(&slow, &format!("{media} discard 100ms\""))
        .flows
        .remove(0);
    let longest = |flow: &fullpipe_trace::FlowSummary| flow.frame_delay_s.max.expect("frames");
    assert!(longest(&all) > 1.0, "{}", longest(&all));
    // At most 100 ms and a frame period in the sender, 10 packets of 15 ms in the queue and one on
    // the link, and the propagation delay.
    assert!(longest(&some) < 0.12 + 0.165 + 0.02, "{}", longest(&some));
    assert!(some.lost_frames > all.lost_frames);
}
