//! The TCP of a run: `stack`, and the keys of flows whose defaults it sets, declared once.
//!
//! A declaration is the meaning of the key, then `name: type in the file => type in the model =
//! default of "rfc", linux default of "linux" and "linux-fq"`. The macro generates from it the fields of
//! [`FlowStack`] and those of the file's tables ([`StackKeys`]), reading and writing them.

use fullpipe_units::Bytes;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use toml::Value as Toml;

use crate::enums::{Switch, Word};
use crate::error::Error;
use crate::model::{PACKET, Table};
use crate::raw_value::{RawValue, ReadValue, Refusal};
use crate::source::Source;
use crate::values::{Percent, text_of};

/// The TCP whose defaults flows have: of the endpoints, of pacing, and of algorithms that have
/// Linux's rules next to those of their specification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stack {
    /// The rules of specifications: no limits and no heuristics of an operating system.
    Rfc,
    /// A current Linux whose devices have fq_codel: each algorithm paces as it asks.
    #[default]
    Linux,
    /// A current Linux whose devices have fq, which paces every flow.
    LinuxFq,
}

impl Stack {
    /// Returns whether it is Linux's.
    pub fn is_linux(self) -> bool {
        self != Stack::Rfc
    }
}

impl Word for Stack {
    const WORDS: &'static [(&'static str, Stack)] = &[
        ("rfc", Stack::Rfc),
        ("linux", Stack::Linux),
        ("linux-fq", Stack::LinuxFq),
    ];
}

/// Declares the keys.
macro_rules! stack_keys {
    ($(
        $(#[doc = $doc:tt])* $key:ident: $Read:ty => $Value:ty = $rfc:expr, linux $linux:expr;
    )*) => {
        /// The keys of a flow whose defaults depend on [`Scenario::stack`](crate::Scenario::stack).
        #[derive(Clone, Debug, PartialEq)]
        pub struct FlowStack {
            /// The TCP whose defaults the flow has.
            pub usual: Stack,
            $($(#[doc = $doc])* pub $key: $Value,)*
        }

        #[derive(Debug, Serialize, Deserialize, JsonSchema)]
        pub(crate) struct StackKeys {
            $(
                $(#[doc = $doc])*
                #[serde(default, skip_serializing_if = "Given::is_none")]
                #[schemars(extend("x-default" = StackKeys::$key()))]
                $key: Given<$Read>,
            )*
        }

        impl FlowStack {
            /// Returns the defaults of `stack`.
            pub fn of(stack: Stack) -> FlowStack {
                match stack {
                    Stack::Rfc => FlowStack { usual: stack, $($key: $rfc,)* },
                    Stack::Linux | Stack::LinuxFq => FlowStack { usual: stack, $($key: $linux,)* },
                }
            }

            /// Returns the first key that a flow has set, with a value that is not "rfc"'s either.
            pub fn first_key(&self) -> Option<&'static str> {
                let [usual, rfc] = [self.usual, Stack::Rfc].map(FlowStack::of);
                [$((stringify!($key), self.$key != usual.$key && self.$key != rfc.$key)),*]
                    .into_iter()
                    .find_map(|(key, differs)| differs.then_some(key))
            }
        }

        impl StackKeys {
            /// Reads the keys of `table`; the others have the defaults of `stack`. A flow with a number
            /// for its ACKs has no ACKs by Linux's rules.
            pub(crate) fn read(
                &self,
                stack: Stack,
                ack_number: bool,
                table: Table,
                source: &Source,
            ) -> Result<FlowStack, Error> {
                let mut flow = FlowStack::of(stack);
                if ack_number {
                    flow.ack_policy = AckPolicy::Fixed;
                }
                $(if let Some(leaf) = &self.$key.0 {
                    flow.$key = leaf.get(source, &table.key(stringify!($key)))?.into();
                })*
                Ok(flow)
            }

            /// Returns the keys that differ from the usual ones of `flow`, as written.
            pub(crate) fn altered(&self, flow: &FlowStack) -> Vec<(&'static str, String)> {
                let usual = FlowStack::of(flow.usual);
                let keys = [$((
                    stringify!($key),
                    self.$key.show(),
                    flow.$key != usual.$key,
                ),)*];
                keys.into_iter()
                    .filter_map(|(key, given, altered)| Some((key, given.filter(|_| altered)?)))
                    .collect()
            }
        }

        /// Descriptions of the keys' defaults.
        impl StackKeys {
            $(fn $key() -> String {
                let [rfc, linux] = [Stack::Rfc, Stack::Linux]
                    .map(|stack| StackKeys::from(&FlowStack::of(stack)).$key.show().unwrap_or_default());
                format!("that of stack: {rfc} with \"rfc\", {linux} with \"linux\" and \"linux-fq\"")
            })*
        }

        impl From<&FlowStack> for StackKeys {
            fn from(flow: &FlowStack) -> StackKeys {
                StackKeys {
                    $($key: Given(Some(RawValue::of(&<$Read>::from(flow.$key.clone())))),)*
                }
            }
        }
    };
}

stack_keys! {
    /// Validation of a congestion window that the flow does not fully use. "off" keeps the window.
    /// "linux" halves it for each retransmission timeout of a pause, down to the initial window, as
    /// with tcp_slow_start_after_idle. "rfc7661" keeps it for five minutes, and counts only the
    /// part in use at a loss. BBR and other algorithms with a rate ignore this key.
    cwnd_validation: CwndValidation => CwndValidation = CwndValidation::Off,
        linux CwndValidation::Linux;
    /// Memory of the sender's buffer, which holds written data until it is acknowledged. "auto" lets
    /// it grow with the window as Linux does, up to 4 MiB; "auto max 16MB" up to 16 MB instead.
    send_buffer: SendBuffer => SendBuffer = SendBuffer::Unlimited,
        linux SendBuffer::Auto { max: WMEM_MAX };
    /// Bursts of TCP segmentation offload: with "on", new data leave in bursts of up to a
    /// millisecond's data, and a burst waits for the next ACK if it can be larger then. Without it,
    /// only paced data leave in bursts.
    tso: Switch => bool = false, linux true;
    /// Response to a retransmission timeout in fast recovery, after a lost retransmission. "reduce"
    /// lowers the slow-start threshold a second time (RFC 5681). "keep" leaves it, and the episode
    /// may still prove spurious, as in Linux.
    rto_in_recovery: RtoInRecovery => RtoInRecovery = RtoInRecovery::Reduce,
        linux RtoInRecovery::Keep;
    /// Detection of losses by RACK and tail loss probes. "rfc8985" follows the RFC. "linux" takes
    /// RACK's RTT from the segment that Linux processes last: an ACK that both advances and has SACK
    /// blocks then has the RTT of the data below them. Its timers are two milliseconds late, and a
    /// retransmission timeout that replaces one of them counts from the departure of the first
    /// segment that is not acknowledged.
    loss_detection: LossDetection => LossDetection = LossDetection::Rfc8985,
        linux LossDetection::Linux;
    /// Rules by which the receiver sends ACKs. "fixed" follows delayed_ack, quick_acks and ack_delay,
    /// and is the default of a flow that sets one of them.
    /// "linux" follows Linux: one ACK for two segments, but one for each at the start, after a
    /// pause, after a duplicate or a mark, and while the advertised window grows; single ACKs wait
    /// 40 to 200 ms, and in a dialog they wait for the next request. A constant receive window then
    /// begins with 64 kB and grows by two segments for each that arrives.
    ack_policy: AckPolicy => AckPolicy = AckPolicy::Fixed, linux AckPolicy::Linux;
    /// Share of the RTT, at most 1 ms, for which ACKs of segments out of order wait to be sent as
    /// one, from the fourth of a hole on. Linux compresses them by 5%, since 6.19 by 33%; "0%" sends
    /// each at once.
    sack_compression: Percent => f64 = 0.0, linux 0.05;
    /// Values that a connection leaves to later ones on the same route with the same RTT, when all
    /// its data is acknowledged. "linux" keeps the RTT, which may lengthen the first timeout, and
    /// the degree of reordering. "ssthresh" also keeps the slow-start threshold, as Linux did
    /// before 5.6.
    metrics_cache: MetricsCache => MetricsCache = MetricsCache::Off, linux MetricsCache::Linux;
}

/// The values that connections leave to later ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricsCache {
    /// None.
    Off,
    /// The RTT and the degree of reordering.
    Linux,
    /// These and the slow-start threshold (Linux: tcp_no_ssthresh_metrics_save = 0).
    Ssthresh,
}

impl Word for MetricsCache {
    const WORDS: &'static [(&'static str, MetricsCache)] = &[
        ("off", MetricsCache::Off),
        ("linux", MetricsCache::Linux),
        ("ssthresh", MetricsCache::Ssthresh),
    ];
}

/// The rule for a congestion window that a flow does not use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CwndValidation {
    /// The window stays.
    Off,
    /// RFC 2861, as Linux has it.
    Linux,
    /// RFC 7661.
    Rfc7661,
}

impl Word for CwndValidation {
    const WORDS: &'static [(&'static str, CwndValidation)] = &[
        ("off", CwndValidation::Off),
        ("linux", CwndValidation::Linux),
        ("rfc7661", CwndValidation::Rfc7661),
    ];
}

/// The rules by which a receiver sends ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckPolicy {
    /// The numbers `delayed_ack`, `quick_acks` and `ack_delay`.
    Fixed,
    /// Linux's heuristics.
    Linux,
}

impl Word for AckPolicy {
    const WORDS: &'static [(&'static str, AckPolicy)] =
        &[("fixed", AckPolicy::Fixed), ("linux", AckPolicy::Linux)];
}

/// Linux's tcp_wmem\[2\].
const WMEM_MAX: Bytes = Bytes::new(4 << 20);

/// The memory of a sender's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendBuffer {
    /// As much as the application writes.
    Unlimited,
    /// A buffer that grows as in Linux.
    Auto {
        /// Largest size (Linux: tcp_wmem\[2\]).
        max: Bytes,
    },
}

impl ReadValue for SendBuffer {
    fn read(value: &Toml) -> Result<SendBuffer, Refusal> {
        let text = text_of(value);
        let max = match text.strip_prefix("auto").map(str::trim) {
            Some("") => return Ok(SendBuffer::Auto { max: WMEM_MAX }),
            Some(rest) => rest.strip_prefix("max"),
            None if text == "unlimited" => return Ok(SendBuffer::Unlimited),
            None => None,
        };
        let Some(max) = max else {
            return Err(Refusal::new(
                "not \"unlimited\", \"auto\", or \"auto max\" with a size",
                "write it like \"auto max 4MiB\"",
            ));
        };
        let max = Bytes::read(&Toml::String(max.trim().to_owned()))?;
        if max < PACKET * 2 {
            return Err(Refusal::new(
                "less than two packets of 1500 bytes",
                "give at least \"3kB\", like \"auto max 4MiB\"",
            ));
        }
        Ok(SendBuffer::Auto { max })
    }

    fn write(&self) -> Toml {
        Toml::String(match self {
            SendBuffer::Unlimited => "unlimited".to_owned(),
            SendBuffer::Auto { max } => format!("auto max {max}"),
        })
    }

    fn schema() -> Schema {
        json_schema!({
            "title": "\"unlimited\", \"auto\", or \"auto max\" size (B, kB, MB, GB, KiB, MiB, GiB)",
            "type": "string",
            "pattern": "^(unlimited|auto( +max +[0-9.]+ *([kKmMgG][iI]?)?[bB])?)$",
            "examples": ["auto", "auto max 16MB"],
        })
    }
}

/// The response to a timeout in fast recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoInRecovery {
    /// A second reduction (RFC 5681 §4.3).
    Reduce,
    /// None (Linux: tcp_enter_loss).
    Keep,
}

impl Word for RtoInRecovery {
    const WORDS: &'static [(&'static str, RtoInRecovery)] = &[
        ("reduce", RtoInRecovery::Reduce),
        ("keep", RtoInRecovery::Keep),
    ];
}

/// The rules of loss detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossDetection {
    /// RFC 8985.
    Rfc8985,
    /// Linux's RACK (tcp_rack_advance, TCP_TIMEOUT_MIN).
    Linux,
}

impl Word for LossDetection {
    const WORDS: &'static [(&'static str, LossDetection)] = &[
        ("rfc8985", LossDetection::Rfc8985),
        ("linux", LossDetection::Linux),
    ];
}

/// The value of a key, if the file has it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent, bound = "")]
struct Given<T>(Option<RawValue<T>>);

impl<T> Default for Given<T> {
    fn default() -> Given<T> {
        Given(None)
    }
}

impl<T> Given<T> {
    fn is_none(&self) -> bool {
        self.0.is_none()
    }

    fn show(&self) -> Option<String> {
        self.0.as_ref().map(RawValue::show)
    }
}

impl<T: ReadValue> JsonSchema for Given<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Given".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        T::schema()
    }
}
