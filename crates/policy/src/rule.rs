//! Rules of actions: from a number to the next rate or window.

use fullpipe_cc::steered::{First, Steered, Target};
use fullpipe_units::{Bytes, Rate, Span};

/// The quantity that an action changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// The pacing rate.
    Rate,
    /// The congestion window.
    Window,
}

/// The way in which an action changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Aurora's: times (1 + δ) if δ ≥ 0, else over (1 - δ), where δ is the action times the scale.
    Delta,
    /// Times two to the power of action times scale.
    Double,
}

/// A rule of actions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// The quantity that an action changes.
    pub quantity: Quantity,
    /// The way in which it changes.
    pub form: Form,
    /// Factor of the action.
    pub scale: f64,
    /// Smallest and largest action; others are clipped.
    pub actions: (f64, f64),
    /// Smallest and largest value: bits per second for a rate, packets for a window.
    pub limits: (f64, f64),
}

impl Rule {
    /// Returns the factor of an action; 1 for one that is not a number.
    pub fn factor(&self, action: f64) -> f64 {
        let action = if action.is_nan() { 0.0 } else { action };
        let delta = action.clamp(self.actions.0, self.actions.1) * self.scale;
        match self.form {
            Form::Delta if delta >= 0.0 => 1.0 + delta,
            Form::Delta => 1.0 / (1.0 - delta),
            Form::Double => libm::exp2(delta),
        }
    }

    /// Returns the next rate or window of a controller after an action. `smss` is the payload of a
    /// full packet.
    pub fn target(&self, action: f64, steered: &Steered, smss: Bytes) -> Target {
        let (window, rate) = steered.window();
        let factor = self.factor(action);
        let (least, most) = self.limits;
        match self.quantity {
            Quantity::Rate => {
                let rate = rate.map_or(least, Rate::as_f64);
                Target::Rate(Rate::from_bps_f64((rate * factor).clamp(least, most)))
            }
            Quantity::Window => {
                let packets = window.as_f64() / smss.as_f64() * factor;
                Target::Window(smss.mul_f64(packets.clamp(least, most)))
            }
        }
    }

    /// Returns the rate or window with which a flow begins: for a given `rate` in bit/s on a path
    /// with this RTT, or the initial window.
    pub fn first(&self, given: Option<(f64, Span)>, smss: Bytes) -> First {
        let (least, most) = self.limits;
        match (self.quantity, given) {
            (Quantity::Rate, Some((rate, _))) => {
                First::Given(Target::Rate(Rate::from_bps_f64(rate.clamp(least, most))))
            }
            (Quantity::Rate, None) => {
                First::InitialWindowPerRtt(Rate::from_bps_f64(least), Rate::from_bps_f64(most))
            }
            (Quantity::Window, Some((rate, rtt))) => {
                let packets = rate * rtt.as_secs_f64() / 8.0 / smss.as_f64();
                First::Given(Target::Window(smss.mul_f64(packets.clamp(least, most))))
            }
            (Quantity::Window, None) => First::InitialWindow,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const AURORA: Rule = Rule {
        quantity: Quantity::Rate,
        form: Form::Delta,
        scale: 0.025,
        actions: (-1e12, 1e12),
        limits: (480e3, 12e6),
    };

    #[test]
    fn auroras_actions_change_the_rate_by_a_fortieth_each() {
        assert_eq!(AURORA.factor(2.0), 1.05);
        assert_eq!(AURORA.factor(-2.0), 1.0 / 1.05);
        assert_eq!(AURORA.factor(f64::NAN), 1.0);
    }

    proptest! {
        #[test]
        fn an_action_and_its_opposite_cancel(action in -1.0..1.0_f64) {
            let double = Rule { form: Form::Double, scale: 1.0, actions: (-1.0, 1.0), ..AURORA };
            for rule in [AURORA, double] {
                prop_assert!((rule.factor(action) * rule.factor(-action) - 1.0).abs() < 1e-12);
            }
        }

        #[test]
        fn the_first_rate_is_within_the_limits(rate in 0.0..1e12, ms in 0_u64..10_000) {
            let first = AURORA.first(Some((rate, Span::from_millis(ms))), Bytes::new(1448));
            let First::Given(Target::Rate(first)) = first else { panic!("a rule of rates gives a rate") };
            prop_assert!((480e3..=12e6).contains(&first.as_f64()));
        }
    }
}
