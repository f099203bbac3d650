//! The algorithms by name.

use crate::algo::{Bbr, Bbr1, Cubic, Ledbat, LedbatPp, NewReno, bbr, bbr1, cubic, ledbat, ledbatpp, newreno};
use crate::{Ack, Controller, Cx, Decision, Descriptor, Lost, PathChange, Recovery, Snapshot};

/// Every controller behind one type: the built-in ones inline, so that the per-packet path has no dynamic dispatch, and
/// a user's own behind a box.
#[derive(Debug)]
pub enum AnyController {
    /// [`crate::algo::newreno`].
    NewReno(NewReno),
    /// [`crate::algo::cubic`].
    Cubic(Cubic),
    /// [`crate::algo::bbr1`].
    Bbr1(Bbr1),
    /// [`crate::algo::bbr`], v2 and v3.
    Bbr(Bbr),
    /// [`crate::algo::ledbat`].
    Ledbat(Ledbat),
    /// [`crate::algo::ledbatpp`].
    LedbatPp(LedbatPp),
    /// A user's own.
    User(Box<dyn Controller>),
}

/// The built-in algorithms.
static BUILT_IN: [&Descriptor; 9] = [
    &bbr1::DESCRIPTOR,
    &bbr::BBR2,
    &bbr::BBR3,
    &bbr::PICOQUIC_2024_09,
    &bbr::PICOQUIC_2024_10,
    &cubic::DESCRIPTOR,
    &ledbat::DESCRIPTOR,
    &ledbatpp::DESCRIPTOR,
    &newreno::DESCRIPTOR,
];

macro_rules! forward {
    ($self:ident, $c:ident => $call:expr) => {
        match $self {
            AnyController::NewReno($c) => $call,
            AnyController::Cubic($c) => $call,
            AnyController::Bbr1($c) => $call,
            AnyController::Bbr($c) => $call,
            AnyController::Ledbat($c) => $call,
            AnyController::LedbatPp($c) => $call,
            AnyController::User($c) => $call,
        }
    };
}

impl Controller for AnyController {
    #[inline]
    fn on_sent(&mut self, cx: &mut Cx<'_>, packet: &Snapshot) {
        forward!(self, c => c.on_sent(cx, packet));
    }
    #[inline]
    fn on_lost(&mut self, cx: &mut Cx<'_>, lost: &Lost) {
        forward!(self, c => c.on_lost(cx, lost));
    }
    #[inline]
    fn on_ack(&mut self, cx: &mut Cx<'_>, ack: &Ack) {
        forward!(self, c => c.on_ack(cx, ack));
    }
    #[inline]
    fn on_recovery(&mut self, cx: &mut Cx<'_>, change: Recovery) {
        forward!(self, c => c.on_recovery(cx, change));
    }
    #[inline]
    fn on_path(&mut self, cx: &mut Cx<'_>, change: PathChange) {
        forward!(self, c => c.on_path(cx, change));
    }
    #[inline]
    fn on_timer(&mut self, cx: &mut Cx<'_>) {
        forward!(self, c => c.on_timer(cx));
    }
    #[inline]
    fn decision(&self) -> Decision {
        forward!(self, c => c.decision())
    }
    #[inline]
    fn observe(&self, row: &mut Vec<f64>) {
        forward!(self, c => c.observe(row));
    }
}

/// The algorithms that a scenario may name: the built-in ones and a user's own.
#[derive(Clone, Debug)]
pub struct Registry(Vec<&'static Descriptor>);

impl Default for Registry {
    fn default() -> Registry {
        Registry(BUILT_IN.to_vec())
    }
}

impl Registry {
    /// Adds a user's own algorithm; one of the same name is replaced.
    #[must_use]
    pub fn with(mut self, descriptor: &'static Descriptor) -> Registry {
        self.0.retain(|known| known.name != descriptor.name);
        self.0.push(descriptor);
        self.0.sort_by_key(|known| known.name);
        self
    }

    /// The algorithm of that name.
    pub fn get(&self, name: &str) -> Option<&'static Descriptor> {
        self.0.iter().find(|known| known.name == name).copied()
    }

    /// All, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &'static Descriptor> {
        self.0.iter().copied()
    }
}
