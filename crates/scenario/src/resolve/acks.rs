//! Checks of the keys that decide when a receiver sends ACKs.

use crate::error::Error;
use crate::model::{Flow, Transport};
use crate::raw::{self, ACK_DELAY, DATAGRAM_DELAYED_ACK, DELAYED_ACK, QUICK_ACKS};
use crate::source::Source;
use crate::stack::AckPolicy;

/// Refuses numbers for ACKs that Linux's rules would ignore.
pub(super) fn check_acks(flow: &Flow, raw: &raw::Tcp, source: &Source) -> Result<(), Error> {
    let given = ack_numbers(flow, raw).into_iter().flatten().next();
    let (AckPolicy::Linux, Some((name, value))) = (flow.stack.ack_policy, given) else {
        return Ok(());
    };
    let problem = "no effect: with ack_policy = \"linux\" Linux's rules decide";
    let fix = format!("remove {name}, or set ack_policy = \"fixed\"");
    Err(source.error(&flow.key(name), value, problem, fix))
}

pub(super) fn usual_delayed_ack(transport: Transport) -> u32 {
    match transport {
        Transport::Tcp => DELAYED_ACK,
        Transport::Datagram => DATAGRAM_DELAYED_ACK,
    }
}

/// Returns the given numbers of ack_policy = "fixed", each with its key and value.
pub(super) fn ack_numbers(flow: &Flow, raw: &raw::Tcp) -> [Option<(&'static str, String)>; 3] {
    [
        (flow.delayed_ack != usual_delayed_ack(flow.transport))
            .then_some(raw.delayed_ack.as_ref())
            .flatten()
            .map(|leaf| ("delayed_ack", leaf.show())),
        (flow.quick_acks != QUICK_ACKS).then(|| ("quick_acks", raw.quick_acks.show())),
        (flow.ack_delay != ACK_DELAY).then(|| ("ack_delay", raw.ack_delay.show())),
    ]
}
