//! What this machine can do: the CPU time that a packet takes in the forwarder, measured before a run.

use std::net::{Ipv4Addr, UdpSocket};

use emulator::{Direction, Emulator, Watch};
use scenario::{Error, PACKET, Scenario};
use units::{Rate, Span, Time};

use crate::clock::{Clock, thread_cpu};
use crate::forward::{Frame, sample};
use crate::{Bed, Trouble, device};

/// Packets that are measured, in parts of which the fastest counts: others were disturbed.
const PARTS: usize = 8;
const PACKETS: u64 = 250;
/// A data packet has half an ACK with it, and the hosts at both ends need as much again as the forwarder.
const PER_DATA_PACKET: f64 = 1.5 * 2.0;

struct Write<'a>(&'a Bed);

impl Watch<Frame> for Write<'_> {
    fn delivered(&mut self, _: Time, _: Span, parcel: emulator::Parcel<Frame>) {
        let _ = nix::unistd::write(&*self.0.near.tun, &parcel.payload);
    }
}

/// The fastest rate of full packets that it can pace, measured with some of them; nothing is left of them in the bed.
pub(crate) fn measure(bed: &Bed, scenario: &Scenario) -> Result<Rate, Trouble> {
    let cant = |error: std::io::Error| Trouble::new(format!("the bed can't be measured: {error}"), "try again");
    bed.near.enter().map_err(|error| cant(error.into()))?;
    let sink =
        UdpSocket::bind((bed.near.address, 9)).or_else(|_| UdpSocket::bind((bed.near.address, 0))).map_err(cant)?;
    bed.far.enter().map_err(|error| cant(error.into()))?;
    let source = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).map_err(cant)?;
    source.connect(sink.local_addr().map_err(cant)?).map_err(cant)?;
    sink.set_nonblocking(true).map_err(cant)?;
    let payload = vec![0; device::MTU - 28];
    let clock = Clock::start();
    let mut buffer = [0; device::MTU];
    let mut fastest = Span::MAX;
    for _ in 0..PARTS {
        let mut spent = Span::ZERO;
        for _ in 0..PACKETS {
            source.send(&payload).map_err(cant)?;
            // A path for each: times are told in order, and this one does not wait for a packet to be due.
            let mut path = Emulator::new(scenario, emulator::whole(scenario));
            let before = thread_cpu();
            if let Ok(size) = nix::unistd::read(&*bed.far.tun, &mut buffer) {
                let now = clock.now();
                path.arrive(now, sample(&buffer[..size], Direction::Forward), &mut Write(bed));
                path.advance(now + Span::from_secs(3_600), &mut Write(bed));
            }
            spent += thread_cpu() - before;
            while sink.recv(&mut buffer).is_ok() {}
        }
        fastest = fastest.min(spent / PACKETS);
    }
    let per_second = 1e9 / fastest.as_nanos().max(1) as f64 / PER_DATA_PACKET;
    Ok(Rate::from_bps_f64(per_second * PACKET.as_f64() * 8.0))
}

/// Refuses what is faster than that.
pub(crate) fn check(scenario: &Scenario, most: Rate) -> Result<(), Error> {
    let fastest = scenario.fastest();
    if fastest <= most {
        return Ok(());
    }
    let slower = Rate::from_mbps((most.as_f64() / 1e6) as u64);
    Err(scenario.error(
        "path.rate",
        format_args!("\"{fastest}\""),
        format!("faster than this machine can pace packet by packet, some {slower}"),
        format!("ask for at most \"{slower}\", or run it in virtual time: fullpipe run"),
    ))
}
