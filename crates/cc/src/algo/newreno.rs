//! NewReno: to be written; a fixed window meanwhile.
use crate::*;
use units::Bytes;
/// Stand-in.
#[derive(Debug)]
pub struct NewReno(Bytes);
/// Stand-in.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "newreno",
    purpose: "",
    specifications: &[],
    params: &[],
    fields: &[],
    recovery: RecoveryOwner::Prr,
    needs: Signals::NONE,
    build: |c| AnyController::NewReno(NewReno(c.initial_cwnd * 3)),
};
impl Controller for NewReno {
    fn on_lost(&mut self, _: &mut Cx<'_>, _: &Lost) {}
    fn on_ack(&mut self, _: &mut Cx<'_>, _: &Ack) {}
    fn decision(&self) -> Decision {
        Decision::window(self.0, self.0)
    }
    fn observe(&self, _: &mut Vec<f64>) {}
}
