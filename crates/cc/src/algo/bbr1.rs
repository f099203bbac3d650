//! Bbr1: to be written; a fixed window meanwhile.
use crate::*;
use units::Bytes;
/// Stand-in.
#[derive(Debug)]
pub struct Bbr1(Bytes);
/// Stand-in.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "bbr1",
    purpose: "",
    specifications: &[],
    params: &[],
    fields: &[],
    recovery: RecoveryOwner::Prr,
    needs: Signals::NONE,
    build: |c| AnyController::Bbr1(Bbr1(c.initial_cwnd * 3)),
};
impl Controller for Bbr1 {
    fn on_lost(&mut self, _: &mut Cx<'_>, _: &Lost) {}
    fn on_ack(&mut self, _: &mut Cx<'_>, _: &Ack) {}
    fn decision(&self) -> Decision {
        Decision::window(self.0, self.0)
    }
    fn observe(&self, _: &mut Vec<f64>) {}
}
