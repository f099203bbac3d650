//! The forwarder with real packets, judged by virtual time: due times follow from arrivals alone.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fullpipe_emulator::{Direction, DropCause, EmulatedPacket, Emulator, Observer, whole};
use fullpipe_scenario::Scenario;
use fullpipe_testbed::{Bed, Clock, Forwarder, Frame, Inside, Sandbox, SandboxError, Side, Tap};
use fullpipe_units::{Span, Time};
use serde_json::{Value, json};

/// Records what a forwarder passes to its tap, in order.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Told>>);

#[derive(Default)]
struct Told {
    arrivals: Vec<(Time, EmulatedPacket<Frame>)>,
    deliveries: Vec<(Time, Time)>,
    drops: usize,
}

impl Tap for Log {
    fn entered(&mut self, at: Time, _: Side, packet: &EmulatedPacket<Frame>) {
        self.0.lock().unwrap().arrivals.push((at, packet.clone()));
    }

    fn dropped(&mut self, _: Time, _: Option<usize>, _: DropCause, _: &EmulatedPacket<Frame>) {
        self.0.lock().unwrap().drops += 1;
    }

    fn delivered(&mut self, at: Time, due: Time, _: Span, _: Side, _: &EmulatedPacket<Frame>) {
        self.0.lock().unwrap().deliveries.push((due, at));
    }
}

/// Observes the same arrivals in virtual time.
#[derive(Default)]
struct Again {
    due: Vec<Time>,
    drops: usize,
}

impl Observer<Frame> for Again {
    fn dropped(&mut self, _: Time, _: Option<usize>, _: DropCause, _: &EmulatedPacket<Frame>) {
        self.drops += 1;
    }

    fn delivered(&mut self, at: Time, _: Span, _: EmulatedPacket<Frame>) {
        self.due.push(at);
    }
}

/// Returns the result of `body` in a sandbox; `None`, with a message, where that is not allowed.
fn in_a_sandbox(body: impl FnOnce(&Inside) -> Result<Value, SandboxError>) -> Option<Value> {
    let mut sandbox = Sandbox::start(body).expect("a process can be started");
    let mut last = Value::Null;
    while let Ok(Some(said)) = sandbox.hear() {
        last = said;
    }
    sandbox.end();
    if let Some(trouble) = last.get("trouble") {
        let problem = trouble["problem"].as_str().unwrap_or_default();
        assert!(
            problem.contains("does not allow") || problem.contains("/dev/net/tun"),
            "{trouble}"
        );
        crate::skip(&trouble);
        return None;
    }
    Some(last["done"].clone())
}

const PACKETS: usize = 300;

fn flood(queue: &str) -> Result<Value, SandboxError> {
    let text = format!(
        "duration = \"60s\"\n[path]\nrate = \"20mbit\"\nrtt = \"10ms\"\nbuffer = \"20packets\"\nqueue = \"{queue}\"\nloss = \"2%\"\n\
         [[flow]]\ncc = \"cubic\""
    );
    let scenario = Scenario::parse(&text, "test.toml").unwrap_or_else(|error| panic!("{error}"));
    let mut bed = Bed::raise()?;
    bed.near.enter().unwrap();
    let sink = UdpSocket::bind((bed.near.address, 5_000)).unwrap();
    bed.far.enter().unwrap();
    let source = UdpSocket::bind((bed.far.address, 0)).unwrap();
    source.connect((bed.near.address, 5_000)).unwrap();

    let (log, stop) = (Log::default(), AtomicBool::new(false));
    let route = |side, header: &fullpipe_testbed::Header, _: &[u8]| {
        Some((
            0,
            if side == Side::Far {
                Direction::Forward
            } else {
                Direction::Reverse
            },
            header.kind,
        ))
    };
    let path = Emulator::new(&scenario, whole(&scenario));
    let mut forwarder = Forwarder::new(&bed, path, Clock::start(), Side::Far, route, log.clone());
    sink.set_nonblocking(true).unwrap();
    let (mut received, mut buffer) = (0, [0; 2_000]);
    let mut drain = || std::iter::from_fn(|| sink.recv(&mut buffer).ok()).count();
    std::thread::scope(|scope| {
        scope.spawn(|| forwarder.run(&stop));
        for n in 0..PACKETS {
            source.send(&vec![7; 100 + n * 4]).unwrap();
            // In bursts, so that some packets find the queue full.
            if n % 30 == 29 {
                std::thread::sleep(Duration::from_millis(8));
                received += drain();
            }
        }
        std::thread::sleep(Duration::from_millis(60));
        stop.store(true, Ordering::Relaxed);
    });
    received += drain();
    let (_, _, timeliness) = forwarder.finish(&mut bed);
    let told = log.0.lock().unwrap();
    let (mut path, mut again) = (Emulator::new(&scenario, whole(&scenario)), Again::default());
    for (at, packet) in &told.arrivals {
        path.arrive(*at, packet.clone(), &mut again);
    }
    path.advance(Time::ZERO + Span::from_secs(60), &mut again);
    let due: Vec<Time> = told.deliveries.iter().map(|(due, _)| *due).collect();
    Ok(json!({
        "arrivals": told.arrivals.len(),
        "drops": told.drops,
        "delivered": due.len(),
        "received": received,
        "overflown": timeliness.overflown,
        "same": due == again.due && told.drops == again.drops,
        "early": told.deliveries.iter().filter(|(due, at)| at < due).count(),
    }))
}

#[test]
fn packets_leave_when_virtual_time_says_so_and_never_before() {
    for queue in ["pfifo", "fq_codel"] {
        let Some(done) = in_a_sandbox(|_| flood(queue)) else {
            return;
        };
        assert_eq!(done["same"], true, "{done}");
        assert_eq!(
            (&done["early"], &done["overflown"], &done["arrivals"]),
            (&json!(0), &json!(0), &json!(PACKETS))
        );
        assert_eq!(
            done["received"], done["delivered"],
            "the other end gets all: {done}"
        );
        assert_eq!(
            done["drops"].as_u64().unwrap() + done["delivered"].as_u64().unwrap(),
            PACKETS as u64
        );
        assert!(
            queue != "pfifo" || done["drops"].as_u64().unwrap() > 20,
            "some find the queue full: {done}"
        );
    }
}

#[test]
fn a_sandbox_says_why_it_ends() {
    let mut sandbox = Sandbox::start(|inside| {
        inside.say(&json!({ "one": 1 }));
        inside.wait_for_stop();
        Err(SandboxError::new("stopped", "nothing"))
    })
    .expect("a process can be started");
    let first = sandbox.hear().unwrap().expect("there is a message");
    if first.get("trouble").is_some() {
        return crate::skip(&first);
    }
    assert_eq!(first, json!({ "one": 1 }));
    sandbox.stop();
    assert_eq!(
        sandbox.hear().unwrap(),
        Some(json!({ "trouble": { "problem": "stopped", "fix": "nothing" } }))
    );
    assert_eq!(sandbox.hear().unwrap(), None);
}

#[test]
fn a_panic_ends_the_sandbox_and_not_more() {
    let mut sandbox = Sandbox::start(|inside| {
        inside.say(&json!({ "one": 1 }));
        panic!("on purpose")
    })
    .expect("a process can be started");
    let caller = std::process::id();
    while sandbox.hear().unwrap().is_some() {}
    sandbox.end();
    assert_eq!(std::process::id(), caller);
}

/// While the first sandbox runs, a second one is forked, which inherits the first one's lifeline.
#[test]
fn a_sandbox_is_stopped_while_another_goes_on() {
    let wait = |inside: &Inside| {
        inside.say(&json!("here"));
        inside.wait_for_stop();
        Ok(json!("stopped"))
    };
    let mut first = Sandbox::start(wait).expect("a process can be started");
    let said = first.hear().unwrap().expect("there is a message");
    if said.get("trouble").is_some() {
        return crate::skip(&said);
    }
    let mut second = Sandbox::start(wait).expect("a process can be started");
    assert_eq!(second.hear().unwrap(), Some(json!("here")));
    first.stop();
    let (to, from) = std::sync::mpsc::channel();
    std::thread::spawn(move || to.send((first.hear(), first.end())));
    let (said, ()) = from
        .recv_timeout(Duration::from_secs(20))
        .expect("it does not wait for the second");
    assert_eq!(said.unwrap(), Some(json!({ "done": "stopped" })));
    second.stop();
    assert_eq!(second.hear().unwrap(), Some(json!({ "done": "stopped" })));
}
