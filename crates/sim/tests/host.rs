//! Hosts whose processing takes time: the CPU limits the rate, sleep adds to the RTT, and the flow
//! reports the host as its limit.

use fullpipe_cc::{
    Ack, AnyController, Context, Controller, Decision, Descriptor, Lost, Recovery, Registry,
    Signals,
};
use fullpipe_sim::run;
use fullpipe_trace::FlowSummary;
use fullpipe_trace::TraceLevel;

use crate::users::{cubic, declared, of_specifications};

/// A loopback of 4 us, one flow of `cc` between two programs.
fn flow(cc: &str, host: &str, path: &str) -> FlowSummary {
    seeded(cc, "", host, path, 1)
}

fn seeded(cc: &str, params: &str, host: &str, path: &str, seed: u64) -> FlowSummary {
    let text = format!(
        "seed = {seed}\nduration = \"1s\"\nmeasure_from = \"100ms\"\n[path]\n{path}\n[host]\n{host}\n\
         [[flow]]\ncc = \"{cc}\"\nack_delay = \"1ms\"\nreceive_window = \"8MB\"\nparams = {{ {params} }}\n"
    );
    let scenario = of_specifications(&text);
    let run = run(&scenario, &Registry::default(), TraceLevel::Off).expect("a valid scenario");
    run.summary.flows.into_iter().next().expect("one flow")
}

const LOOPBACK: &str = "rate = \"40gbit\"\nrtt = \"4us\"\nbuffer = \"8MB\"";

#[test]
fn a_cpu_bound_sender_sends_what_its_cpu_allows() {
    // 30 packets take 5 us for the call and 4 us each; ACKs cost nothing here.
    let cubic = flow(
        "cubic",
        "send = \"4us\"\nreceive = \"1us\"\ncall = \"5us\"\nbatch = 30",
        LOOPBACK,
    );
    let received = 1448.0 * 8.0 * 30.0 / 125e-6;
    // Each turn also reads ACKs, with or without a call for them.
    assert!(
        cubic.goodput_bps < received && cubic.goodput_bps > received * 125.0 / 130.5,
        "{}",
        cubic.goodput_bps / 1e9
    );
    assert!(cubic.limited_by["host"] > 0.99, "{:?}", cubic.limited_by);
    assert_eq!(cubic.retransmits, 0);
}

#[test]
fn acks_cost_the_sender_too() {
    let host = |ack: &str| format!("send = \"4us\"\nreceive = \"1us\"\nack = \"{ack}\"\nbatch = 2");
    let [free, dear] = ["0us", "2us"].map(|ack| flow("cubic", &host(ack), LOOPBACK).goodput_bps);
    // An ACK answers two packets: 8 us without its cost, 10 us with it.
    assert!((dear / free - 0.8).abs() < 0.02, "{}", dear / free);
}

#[test]
fn a_slow_receiver_lets_packets_wait_for_it() {
    let cubic = flow(
        "cubic",
        "send = \"1us\"\nreceive = \"4us\"\nbatch = 10",
        LOOPBACK,
    );
    let read = 1448.0 * 8.0 / 4e-6;
    assert!(
        (cubic.goodput_bps / read - 1.0).abs() < 0.01,
        "{}",
        cubic.goodput_bps / 1e9
    );
    // The whole receive window waits in front of it.
    let window = 8e6 * 8.0 / read;
    assert!(
        (cubic.rtt_s.p50.expect("samples") / window - 1.0).abs() < 0.05,
        "{:?}",
        cubic.rtt_s
    );
    assert!(
        cubic.limited_by["receive_window"] > 0.99,
        "{:?}",
        cubic.limited_by
    );
}

#[test]
fn each_round_trip_wakes_both_ends() {
    let wake = "wake_min = \"50us\"\nwake_median = \"50us\"\nwake_max = \"50us\"";
    let text = format!(
        "duration = \"1s\"\n[path]\n{LOOPBACK}\n[host]\nsend = \"3us\"\n{wake}\n[[flow]]\ncc = \"newreno\"\n\
         app_rate = \"10mbit\"\ndelayed_ack = 1\n"
    );
    let scenario = of_specifications(&text);
    let run = run(&scenario, &Registry::default(), TraceLevel::Off).expect("a valid scenario");
    // 2 x 50 us, 3 us for the packet, 4 us of path, and 0.3 us of transmission on its links.
    let rtt = run.summary.flows[0].rtt_s.clone();
    let (min, p99) = (rtt.min.expect("samples"), rtt.p99.expect("samples"));
    assert!(min > 107e-6 && p99 < 109e-6, "{rtt:?}");
}

#[test]
fn who_wakes_late_still_sends_at_the_paths_rate() {
    let path = "rate = \"100mbit\"\nrtt = \"20ms\"\nbuffer = \"2bdp\"";
    let wake = "wake_min = \"5us\"\nwake_median = \"20us\"\nwake_max = \"1ms\"";
    for cc in ["cubic", "bbr1", "bbr3"] {
        let [at_once, late] = ["", wake].map(|host| flow(cc, host, path).goodput_bps);
        assert!(
            (late / at_once - 1.0).abs() < 0.03,
            "{cc}: {late} after {at_once}"
        );
    }
}

/// The hosts of published/huitema-2024.toml.
const HUITEMA: &str = "send = \"3.8us\"\nreceive = \"2.8us\"\nack = \"1us\"\ncall = \"2us\"\nrate_interval = \"1ms\"\n\
                       wake_min = \"2us\"\nwake_median = \"15us\"\nwake_max = \"600us\"";

#[test]
fn noise_pulls_bbr3_down_where_cycles_are_short_and_filter_time_holds_it() {
    let mean = |cc: &str, params: &str| {
        let goodputs = (1..=4).map(|seed| seeded(cc, params, HUITEMA, LOOPBACK, seed).goodput_bps);
        goodputs.sum::<f64>() / 4.0
    };
    let cubic = mean("cubic", "");
    let share = |cc: &str, params: &str| mean(cc, params) / cubic;
    let noisy = share("bbr3-picoquic-2024-09", "");
    assert!(noisy < 0.75, "{noisy}");
    let held = [
        share("bbr3-picoquic-2024-09", "filter_time = 0.3"),
        share("bbr3", "profile = \"loopback\""),
    ];
    assert!(held.iter().all(|held| *held > 0.95), "{held:?}");
}

/// CUBIC, which checks what the two hosts took of each RTT.
#[derive(Debug)]
struct Decomposed {
    window: AnyController,
    samples: u32,
}

impl Controller for Decomposed {
    fn on_lost(&mut self, cx: &mut Context<'_>, lost: &Lost) {
        self.window.on_lost(cx, lost);
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            let fabric = (rtt.raw - rtt.local - rtt.remote).as_secs_f64() * 1e6;
            // 100 us, and the transmission of a packet and an ACK at 1 Gbit/s and on the access link.
            assert!((112.0..=115.0).contains(&fabric), "{fabric} us of {rtt:?}");
            // The packet: a call and its sending. The ACK: the wake-up.
            assert!(rtt.local.as_secs_f64() >= 27e-6, "{rtt:?}");
            // The wake-up, two calls, the packet and the ACK.
            assert!(rtt.remote.as_secs_f64() >= 31e-6, "{rtt:?}");
            self.samples += 1;
        }
        self.window.on_ack(cx, ack);
    }

    fn on_recovery(&mut self, cx: &mut Context<'_>, change: Recovery) {
        self.window.on_recovery(cx, change);
    }

    fn decision(&self) -> Decision {
        self.window.decision()
    }

    fn observe(&self, row: &mut Vec<f64>) {
        row.push(f64::from(self.samples));
    }
}

static DECOMPOSED: Descriptor = declared("decomposed", Signals::HOST_DELAYS, |_, _| {
    AnyController::User(Box::new(Decomposed {
        window: cubic(),
        samples: 0,
    }))
});

/// An RTT less the parts of the hosts is the path's: wake-ups of up to 1 ms, work
/// and delayed ACKs of 5 ms do not enter it.
#[test]
fn the_delays_of_the_hosts_are_told_apart_from_the_path() {
    let host = "send = \"5us\"\nreceive = \"4us\"\nack = \"3us\"\ncall = \"2us\"\n\
                wake_min = \"20us\"\nwake_median = \"50us\"\nwake_max = \"1ms\"";
    let text = format!(
        "duration = \"2s\"\n[path]\nrate = \"1gbit\"\nrtt = \"100us\"\nbuffer = \"1MB\"\n[host]\n{host}\n\
         [[flow]]\ncc = \"decomposed\"\napp_rate = \"1mbit\"\nquick_acks = 0\nack_delay = \"5ms\"\n"
    );
    let scenario = of_specifications(&text);
    let registry = Registry::default().with(&DECOMPOSED);
    let run = run(&scenario, &registry, TraceLevel::Off).unwrap_or_else(|error| panic!("{error}"));
    let rtt = &run.summary.flows[0].rtt_s;
    assert!(rtt.max.expect("samples") > 5e-3, "a delayed ACK: {rtt:?}");
}
