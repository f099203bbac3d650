//! The interface between fullpipe and a library: `fullpipe.h` is the same in C.
//!
//! Times are nanoseconds since the start of the run, sizes bytes, rates bits per second. Texts and
//! tables that a library returns must stay valid until the process ends.

use core::ffi::c_void;

/// The version of the interface. It changes with any change of this file.
pub const VERSION: u32 = 3;
/// The oldest version of libraries that fullpipe runs: they do not read [`Context::stream`].
pub const OLDEST: u32 = 2;
/// Stands for a value that is not there.
pub const NONE: u64 = u64::MAX;
/// Return value of a call: the decision is that of `Plugin::decision`, which is called next.
pub const ASK: i32 = 0;
/// Return value of a call: the decision is as before.
pub const SAME: i32 = 2;
/// Return value of a call: the decision is in [`Context::decision`].
pub const DECIDED: i32 = 3;
/// Return value of `on_sent`: the decision is as before, and this connection needs no further call.
pub const DEAF: i32 = 4;

/// Text in UTF-8, without a final zero.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Text {
    /// The first byte; null for no text.
    pub bytes: *const u8,
    /// The number of bytes.
    pub length: usize,
}

impl Text {
    /// No text.
    pub const EMPTY: Text = Text {
        bytes: core::ptr::null(),
        length: 0,
    };

    /// Returns the text of a string, which must outlive it.
    pub const fn of(text: &str) -> Text {
        Text {
            bytes: text.as_ptr(),
            length: text.len(),
        }
    }

    /// Returns the string; None if it is no UTF-8.
    ///
    /// # Safety
    /// The bytes must be valid for `'a`.
    pub unsafe fn read<'a>(self) -> Option<&'a str> {
        if self.bytes.is_null() {
            return Some("");
        }
        // SAFETY: the caller vouches for the bytes.
        core::str::from_utf8(unsafe { core::slice::from_raw_parts(self.bytes, self.length) }).ok()
    }
}

/// A table: its first entry, and their number.
#[derive(Debug)]
#[repr(C)]
pub struct List<T> {
    /// The first entry; null in an empty table is allowed.
    pub first: *const T,
    /// The number of entries.
    pub count: usize,
}

impl<T> Clone for List<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for List<T> {}

impl<T> List<T> {
    /// Returns the list of a slice, which must outlive it.
    pub const fn of(entries: &[T]) -> List<T> {
        List {
            first: entries.as_ptr(),
            count: entries.len(),
        }
    }

    /// Returns the entries.
    ///
    /// # Safety
    /// They must be valid for `'a`.
    pub unsafe fn read<'a>(self) -> &'a [T] {
        if self.first.is_null() || self.count == 0 {
            return &[];
        }
        // SAFETY: the caller vouches for the entries.
        unsafe { core::slice::from_raw_parts(self.first, self.count) }
    }
}

/// A parameter.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Param {
    /// Key in `params = { … }`.
    pub name: Text,
    /// Unit of a number.
    pub unit: Text,
    /// Effect, as a phrase.
    pub purpose: Text,
    /// Section of the specification.
    pub section: Text,
    /// 0 for a number, 1 for a flag, 2 for one of `words`.
    pub kind: u32,
    /// Default: the number, or 0 or 1; the first of `words` is their default.
    pub usual: f64,
    /// Smallest number.
    pub least: f64,
    /// Largest number.
    pub most: f64,
    /// The keywords.
    pub words: List<Text>,
}

/// A default of a profile.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Default {
    /// The parameter.
    pub name: Text,
    /// A number, or 0 or 1.
    pub value: f64,
    /// A keyword, for a parameter of keywords.
    pub word: Text,
}

/// Other defaults, for one keyword of the parameter `profile`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Profile {
    /// The keyword.
    pub name: Text,
    /// The defaults.
    pub defaults: List<Default>,
}

/// A column of the trace.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Field {
    /// Name of the column.
    pub name: Text,
    /// Unit of the number.
    pub unit: Text,
    /// Meaning, as a phrase.
    pub purpose: Text,
    /// The names of the values 0, 1, 2 of a state.
    pub labels: List<Text>,
}

/// A document that the algorithm follows.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Specification {
    /// Name with version.
    pub name: Text,
    /// The parts that are followed.
    pub note: Text,
}

/// The constants of a connection.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Config {
    /// Maximum segment size.
    pub smss: u64,
    /// Initial window.
    pub initial_cwnd: u64,
    /// Lowest rate of a media source; [`NONE`] for any other application.
    pub source_min: u64,
    /// Highest rate of a media source.
    pub source_max: u64,
    /// Time between two frames of a media source.
    pub source_frame_period: u64,
    /// A value for each parameter, in their order: a number, 0 or 1, or the number of the keyword.
    pub params: List<f64>,
}

/// The state of a connection.
pub type Conn = fullpipe_cc::Conn;
/// The state of the connection when a packet was sent.
pub type Snapshot = fullpipe_cc::Snapshot;
/// A lost packet.
pub type Lost = fullpipe_cc::Lost;

/// The information in one ACK; see `fullpipe_cc::Ack`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs, reason = "as in fullpipe_cc::Ack")]
pub struct Ack {
    pub newest: Snapshot,
    pub newly_acked: u64,
    pub cumulative: u64,
    pub newly_lost: u64,
    pub prior_inflight: u64,
    /// [`NONE`] without a sample.
    pub rtt: u64,
    pub rtt_local: u64,
    pub rtt_remote: u64,
    /// [`NONE`] if unknown.
    pub one_way: u64,
    /// [`NONE`] if the interval is too short.
    pub rate: u64,
    pub rate_interval: u64,
    pub rate_delivered: u64,
    pub rate_lost: u64,
    pub rate_delivered_ce: u64,
    pub ce_packets: u64,
    /// [`NONE`] if the feedback does not count bytes.
    pub ce_bytes: u64,
    /// [`NONE`] if the receiver's algorithm sends none.
    pub feedback: u64,
    pub rate_app_limited: bool,
    pub ece: bool,
    pub tlp_repair: bool,
}

/// Instructions for the transport; see `fullpipe_cc::Decision`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs, reason = "as in fullpipe_cc::Decision")]
pub struct Decision {
    pub cwnd: u64,
    /// [`NONE`] before the first congestion.
    pub ssthresh: u64,
    /// [`NONE`] for an ACK-clocked flow.
    pub pacing_rate: u64,
    pub send_quantum: u64,
    /// [`NONE`] leaves the source at its maximum.
    pub source_rate: u64,
    /// [`NONE`] without a timer.
    pub wake_at: u64,
    /// 0 not ECN-capable, 1 ECT(1), 2 ECT(0).
    pub ecn: u8,
    /// 0 or 1.
    pub mark_app_limited: u8,
}

/// The context of a call.
#[derive(Debug)]
#[repr(C)]
pub struct Context {
    /// The time of this event.
    pub now: u64,
    /// The state of the connection at this event.
    pub conn: *const Conn,
    /// The decision in force, which a call that returns [`DECIDED`] has changed.
    pub decision: *mut Decision,
    /// Passed to the two functions.
    pub host: *mut c_void,
    /// Returns 64 random bits.
    pub random: extern "C" fn(host: *mut c_void) -> u64,
    /// Reports a change of state: before, after, and the reason. The texts stay valid until the
    /// process ends.
    pub transition: extern "C" fn(host: *mut c_void, from: Text, to: Text, reason: Text),
    /// The key of the stream that `random` draws from, for [`Rng::of`](fullpipe_units::Rng::of).
    pub stream: u64,
}

/// An algorithm. Calls return [`ASK`], [`SAME`] or [`DECIDED`], `decision` and `observe` 0. Another
/// number is an error, which `error` describes and which ends the run. Functions that are null are not
/// called.
#[derive(Debug)]
#[repr(C)]
#[allow(
    missing_docs,
    reason = "as in fullpipe_cc::Descriptor and fullpipe_cc::Controller"
)]
pub struct Plugin {
    /// [`VERSION`].
    pub version: u32,
    /// 0 if the transport reduces the window by PRR in recovery, 1 if the algorithm does.
    pub owns_recovery: u32,
    /// The bits of `fullpipe_cc::Signals`.
    pub needs: u32,
    /// 0 or 1.
    pub answers_marks: u8,
    /// 1 if it calls `random`, else 0.
    pub random: u8,
    pub name: Text,
    pub purpose: Text,
    pub params: List<Param>,
    pub profiles: List<Profile>,
    pub fields: List<Field>,
    pub specifications: List<Specification>,
    /// Creates the controller of a connection; null for an error.
    pub create: Option<unsafe extern "C" fn(config: *const Config) -> *mut c_void>,
    pub destroy: Option<unsafe extern "C" fn(it: *mut c_void)>,
    /// Describes the last error; `it` is null after `create`.
    pub error: Option<unsafe extern "C" fn(it: *mut c_void) -> Text>,
    pub decision: Option<unsafe extern "C" fn(it: *mut c_void, into: *mut Decision) -> i32>,
    /// Writes a value for each field.
    pub observe: Option<unsafe extern "C" fn(it: *mut c_void, values: *mut f64) -> i32>,
    pub on_ack: Option<unsafe extern "C" fn(*mut c_void, *const Context, *const Ack) -> i32>,
    pub on_sent: Option<unsafe extern "C" fn(*mut c_void, *const Context, *const Snapshot) -> i32>,
    pub on_lost: Option<unsafe extern "C" fn(*mut c_void, *const Context, *const Lost) -> i32>,
    pub on_acked: Option<unsafe extern "C" fn(*mut c_void, *const Context, *const Snapshot) -> i32>,
    /// `change`: 0 loss, 1 mark, 2 exit, 3 spurious, 4 timeout, 5 timeout again, 6 persistent.
    pub on_recovery: Option<unsafe extern "C" fn(*mut c_void, *const Context, change: u32) -> i32>,
    pub on_unused: Option<unsafe extern "C" fn(*mut c_void, *const Context, cwnd: u64) -> i32>,
    /// `change`: 0 MTU, 1 ECN failed, 2 known BDP, 3 known ssthresh; `bytes` of the last two.
    pub on_path:
        Option<unsafe extern "C" fn(*mut c_void, *const Context, change: u32, bytes: u64) -> i32>,
    pub on_frame:
        Option<unsafe extern "C" fn(*mut c_void, *const Context, size: u64, waited: u64) -> i32>,
    pub on_timer: Option<unsafe extern "C" fn(*mut c_void, *const Context) -> i32>,
    pub on_end: Option<unsafe extern "C" fn(*mut c_void, *const Context) -> i32>,
}

// SAFETY: its pointers are to data that nothing changes, and to functions.
unsafe impl Send for Plugin {}
// SAFETY: as above.
unsafe impl Sync for Plugin {}
