//! Registry of the algorithms by name.

use fullpipe_units::{Bytes, Time};

use crate::algo::*;
use crate::{
    Ack, Context, Controller, Decision, Descriptor, Frame, Lost, PathChange, ReceiverDescriptor,
    Recovery, Snapshot, steered::Steered,
};

/// A built-in algorithm in charts and lists.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    /// Index of its color.
    pub color: u8,
    /// Whether the slow-start threshold binds it; else a value is that of its last startup.
    pub ssthresh: bool,
    /// Whether it yields to other traffic.
    pub background: bool,
}

impl Shown {
    const fn new(color: u8) -> Shown {
        Shown {
            color,
            ssthresh: true,
            background: false,
        }
    }

    const fn unbound(self) -> Shown {
        Shown {
            ssthresh: false,
            ..self
        }
    }

    const fn background(self) -> Shown {
        Shown {
            background: true,
            ..self
        }
    }
}

/// Returns what charts and lists show of a built-in algorithm.
pub fn shown(name: &str) -> Option<Shown> {
    let senders = BUILT_IN.iter().map(|(known, shown)| (known.name, shown));
    let receivers = RECEIVERS.iter().map(|(known, shown)| (known.name, shown));
    let found = senders.chain(receivers).find(|(known, _)| *known == name);
    found.map(|(_, shown)| *shown)
}

/// Declares the built-in algorithms of the sender, a row each: the variant of `AnyController` with
/// its type, and its descriptors with what charts and lists show of them. `$` stands for itself in
/// the macro that this one declares.
macro_rules! built_in {
    ($d:tt $($variant:ident($type:ty): $($descriptor:expr => $shown:expr),+;)*) => {
        /// Any controller as one type: built-in ones are stored inline, so that the per-packet path
        /// has no dynamic dispatch; a user's controller is boxed.
        #[derive(Debug)]
        pub enum AnyController {
            $(
                #[doc = concat!("`", stringify!($type), "` of [`crate::algo`].")]
                $variant($type),
            )*
            /// [`crate::steered`], for programs that learn.
            Steered(Box<Steered>),
            /// A user's controller.
            User(Box<dyn Controller>),
        }

        /// The built-in algorithms of the sender.
        static BUILT_IN: &[(&Descriptor, Shown)] = &[$($((&$descriptor, $shown)),+),*];

        macro_rules! forward {
            ($d self:ident, $d c:ident => $d call:expr) => {
                match $d self {
                    $(AnyController::$variant($d c) => $d call,)*
                    AnyController::Steered($d c) => $d call,
                    AnyController::User($d c) => $d call,
                }
            };
        }
    };
}

// Boxed are those that would make the state of every flow longer.
built_in! { $
    Bbr1(Box<bbr::Bbr1>): bbr::BBR1 => Shown::new(5).unbound();
    Bbr(Box<bbr::Bbr>):
        bbr::BBR2 => Shown::new(6).unbound(),
        bbr::BBR3 => Shown::new(1).unbound(),
        bbr::PICOQUIC_2024_09 => Shown::new(1).unbound(),
        bbr::PICOQUIC_2024_10 => Shown::new(1).unbound();
    C4(c4::C4): c4::DESCRIPTOR => Shown::new(2).unbound();
    Copa(copa::Copa): copa::DESCRIPTOR => Shown::new(4).unbound();
    Cubic(cubic::Cubic): cubic::DESCRIPTOR => Shown::new(0);
    Dctcp(dctcp::Dctcp): dctcp::DESCRIPTOR => Shown::new(3);
    Ledbat(ledbat::Ledbat): ledbat::DESCRIPTOR => Shown::new(4).background();
    LedbatPp(ledbatpp::LedbatPp): ledbatpp::DESCRIPTOR => Shown::new(4).background();
    Lia(lia::Lia): lia::DESCRIPTOR => Shown::new(2);
    NewReno(newreno::NewReno): newreno::DESCRIPTOR => Shown::new(2);
    Prague(prague::Prague): prague::DESCRIPTOR => Shown::new(3);
    Scream(Box<scream::Scream>): scream::DESCRIPTOR => Shown::new(3).unbound();
    Swift(swift::Swift): swift::DESCRIPTOR => Shown::new(4).unbound();
    Vegas(vegas::Vegas): vegas::DESCRIPTOR => Shown::new(4);
    Vivace(vivace::Vivace): vivace::DESCRIPTOR => Shown::new(2).unbound();
}

/// The built-in algorithms of the receiver.
static RECEIVERS: &[(&ReceiverDescriptor, Shown)] =
    &[(&rledbat::DESCRIPTOR, Shown::new(4).background())];

impl Controller for AnyController {
    #[inline]
    fn on_sent(&mut self, cx: &mut Context<'_>, packet: &Snapshot) -> bool {
        forward!(self, c => c.on_sent(cx, packet))
    }
    fn hears_sent(&self) -> bool {
        forward!(self, c => c.hears_sent())
    }
    #[inline(always)] // for each packet
    fn wants_sent(&mut self, now: Time, from_idle: bool) -> bool {
        forward!(self, c => c.wants_sent(now, from_idle))
    }
    #[inline]
    fn on_lost(&mut self, cx: &mut Context<'_>, lost: &Lost) {
        forward!(self, c => c.on_lost(cx, lost));
    }
    #[inline]
    fn on_acked(&mut self, cx: &mut Context<'_>, packet: &Snapshot) {
        forward!(self, c => c.on_acked(cx, packet));
    }
    #[inline]
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        forward!(self, c => c.on_ack(cx, ack));
    }
    #[inline]
    fn on_recovery(&mut self, cx: &mut Context<'_>, change: Recovery) {
        forward!(self, c => c.on_recovery(cx, change));
    }
    fn on_unused(&mut self, cx: &mut Context<'_>, cwnd: Bytes) {
        forward!(self, c => c.on_unused(cx, cwnd));
    }
    #[inline]
    fn on_path(&mut self, cx: &mut Context<'_>, change: PathChange) {
        forward!(self, c => c.on_path(cx, change));
    }
    fn on_frame(&mut self, cx: &mut Context<'_>, frame: &Frame) {
        forward!(self, c => c.on_frame(cx, frame));
    }
    #[inline]
    fn on_timer(&mut self, cx: &mut Context<'_>) {
        forward!(self, c => c.on_timer(cx));
    }
    fn on_end(&mut self, cx: &mut Context<'_>) {
        forward!(self, c => c.on_end(cx));
    }
    #[inline]
    fn decision(&self) -> Decision {
        forward!(self, c => c.decision())
    }
    #[inline(always)] // each algorithm writes its decision in place
    fn decide_into(&self, last: &mut Decision) {
        forward!(self, c => c.decide_into(last));
    }
    #[inline]
    fn observe(&self, row: &mut Vec<f64>) {
        forward!(self, c => c.observe(row));
    }
}

/// The algorithms that a scenario may name: built-in ones and the user's.
#[derive(Clone, Debug)]
pub struct Registry {
    senders: Vec<&'static Descriptor>,
    receivers: Vec<&'static ReceiverDescriptor>,
}

impl Default for Registry {
    fn default() -> Registry {
        Registry {
            senders: BUILT_IN.iter().map(|(known, _)| *known).collect(),
            receivers: RECEIVERS.iter().map(|(known, _)| *known).collect(),
        }
    }
}

impl Registry {
    /// Adds a user's algorithm, which replaces one of the same name.
    #[must_use]
    pub fn with(mut self, descriptor: &'static Descriptor) -> Registry {
        add(&mut self.senders, descriptor);
        self
    }

    /// Adds a user's algorithm of the receiver, which replaces one of the same name.
    #[must_use]
    pub fn with_receiver(mut self, descriptor: &'static ReceiverDescriptor) -> Registry {
        add(&mut self.receivers, descriptor);
        self
    }

    /// Returns the sender's algorithm with this name.
    pub fn get(&self, name: &str) -> Option<&'static Descriptor> {
        self.iter().find(|known| known.name == name)
    }

    /// Returns the receiver's algorithm with this name.
    pub fn receiver(&self, name: &str) -> Option<&'static ReceiverDescriptor> {
        self.receivers().find(|known| known.name == name)
    }

    /// Returns all algorithms of the sender, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &'static Descriptor> {
        self.senders.iter().copied()
    }

    /// Returns all algorithms of the receiver, sorted by name.
    pub fn receivers(&self) -> impl Iterator<Item = &'static ReceiverDescriptor> {
        self.receivers.iter().copied()
    }

    /// Returns the names of all algorithms, sorted.
    pub fn names(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self
            .iter()
            .map(|known| known.name)
            .chain(self.receivers().map(|known| known.name))
            .collect();
        names.sort_unstable();
        names
    }
}

fn add<Build>(known: &mut Vec<&'static Descriptor<Build>>, descriptor: &'static Descriptor<Build>) {
    known.retain(|other| other.name != descriptor.name);
    known.push(descriptor);
    known.sort_by_key(|other| other.name);
}
