//! A small neural network, evaluated in double precision and the same on every machine.

/// The function after a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// None.
    Linear,
    /// Hyperbolic tangent.
    Tanh,
    /// The larger of the value and zero.
    Relu,
}

/// A layer: outputs are the activation of bias plus weights times inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// One row of weights per output.
    pub weights: Vec<Vec<f64>>,
    /// One per output.
    pub bias: Vec<f64>,
    /// Function of the outputs.
    pub activation: Activation,
}

/// Layers, after a shift and a scale of each input.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Subtracted from each input.
    pub shift: Vec<f64>,
    /// Multiplies each shifted input.
    pub scale: Vec<f64>,
    /// Shifted and scaled inputs are clipped to this distance from zero.
    pub clip: f64,
    /// The layers, in order.
    pub layers: Vec<Layer>,
}

impl Network {
    /// Returns the outputs for an observation.
    pub fn outputs(&self, observation: &[f32]) -> Vec<f64> {
        let mut values: Vec<f64> = observation
            .iter()
            .zip(self.shift.iter().zip(&self.scale))
            .map(|(value, (shift, scale))| {
                ((f64::from(*value) - shift) * scale).clamp(-self.clip, self.clip)
            })
            .collect();
        for layer in &self.layers {
            values = layer.outputs(&values);
        }
        values
    }
}

impl Layer {
    fn outputs(&self, inputs: &[f64]) -> Vec<f64> {
        let of = |(row, bias): (&Vec<f64>, &f64)| {
            let sum = row
                .iter()
                .zip(inputs)
                .fold(*bias, |sum, (weight, input)| sum + weight * input);
            match self.activation {
                Activation::Linear => sum,
                Activation::Tanh => libm::tanh(sum),
                Activation::Relu => sum.max(0.0),
            }
        };
        self.weights.iter().zip(&self.bias).map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked by hand: (3 - 1) x 0.5 = 1; relu(2 x 1 - 3) = 0 and relu(2 x 1 + 1) = 3; 0 x 5 + 3 x 2 - 1 = 5.
    #[test]
    fn layers_follow_each_other() {
        let network = Network {
            shift: vec![1.0],
            scale: vec![0.5],
            clip: 10.0,
            layers: vec![
                Layer {
                    weights: vec![vec![2.0], vec![2.0]],
                    bias: vec![-3.0, 1.0],
                    activation: Activation::Relu,
                },
                Layer {
                    weights: vec![vec![5.0, 2.0]],
                    bias: vec![-1.0],
                    activation: Activation::Linear,
                },
            ],
        };
        assert_eq!(network.outputs(&[3.0]), [5.0]);
    }
}
