//! The library's side: a Rust algorithm behind the interface.

use core::ffi::c_void;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use fullpipe_cc::{
    AnyController, Config, Context, Controller, Decision, Default as Usual, Descriptor, Domain,
    Marks, MediaSource, Observer, ParamValue, RecoveryOwner, Shared, Transition,
};
use fullpipe_units::{Bytes, Rate, Rng, Span, Time};

use crate::abi::{self, DEAF, DECIDED, List, NONE, SAME, Text};
use crate::convert::{path_of, recovery_of};

/// The descriptor of this library: each library has this static of its own.
static DESCRIPTOR: OnceLock<&'static Descriptor> = OnceLock::new();
static TABLE: OnceLock<abi::Plugin> = OnceLock::new();

thread_local! {
    /// The words of the latest panic, with its place. The library has a standard library of its own,
    /// so this hook is not fullpipe's.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// A controller of a connection, its random stream, and its latest error.
struct Guest {
    /// A user's own one, without the dispatch to built-in algorithms.
    cc: Box<dyn Controller>,
    /// Whether it listens to sent packets.
    hears: bool,
    /// The stream of the host, which draws nothing from it itself; begun by the first call.
    rng: Option<Rng>,
    /// The decision that the host knows.
    known: Option<Decision>,
    error: String,
}

/// Returns the table of an algorithm; the macro [`plugin!`](crate::plugin) calls it. Null if the
/// declaration panics.
pub fn export(descriptor: &'static Descriptor) -> *const abi::Plugin {
    let made = catch_unwind(|| {
        let made: *const abi::Plugin = TABLE.get_or_init(|| table(descriptor));
        DESCRIPTOR.get_or_init(|| {
            panic::set_hook(Box::new(|info| {
                PANIC.with(|place| *place.borrow_mut() = format!("{info}").replace('\n', " "));
            }));
            descriptor
        });
        made
    });
    made.unwrap_or(core::ptr::null())
}

fn leaked<T, Made>(entries: &[T], make: impl Fn(&T) -> Made) -> List<Made> {
    List::of(entries.iter().map(make).collect::<Vec<_>>().leak())
}

fn words(words: &[&'static str]) -> List<Text> {
    leaked(words, |word| Text::of(word))
}

fn table(descriptor: &'static Descriptor) -> abi::Plugin {
    let params = leaked(descriptor.params, |param| {
        let (kind, usual, least, most, choices): (_, _, _, _, &[&str]) = match param.domain {
            Domain::Number { default, min, max } => (0, default, min, max, &[]),
            Domain::Flag { default } => (1, f64::from(u8::from(default)), 0.0, 1.0, &[]),
            Domain::Choice(choices) => (2, 0.0, 0.0, 0.0, choices),
        };
        abi::Param {
            name: Text::of(param.name),
            unit: Text::of(param.unit),
            purpose: Text::of(param.purpose),
            section: Text::of(param.section),
            kind,
            usual,
            least,
            most,
            words: words(choices),
        }
    });
    let profiles = leaked(descriptor.profiles, |profile| abi::Profile {
        name: Text::of(profile.name),
        defaults: leaked(profile.defaults, |(name, usual)| {
            let (value, word) = match *usual {
                Usual::Number(number) => (number, Text::EMPTY),
                Usual::Flag(flag) => (f64::from(u8::from(flag)), Text::EMPTY),
                Usual::Word(word) => (0.0, Text::of(word)),
            };
            abi::Default {
                name: Text::of(name),
                value,
                word,
            }
        }),
    });
    let fields = leaked(descriptor.fields, |field| abi::Field {
        name: Text::of(field.name),
        unit: Text::of(field.unit),
        purpose: Text::of(field.purpose),
        labels: words(field.labels),
    });
    let specifications = leaked(descriptor.specifications, |each| abi::Specification {
        name: Text::of(each.name),
        note: Text::of(each.note),
    });
    abi::Plugin {
        version: abi::VERSION,
        owns_recovery: u32::from(descriptor.recovery == RecoveryOwner::Own),
        needs: descriptor.needs.bits().into(),
        answers_marks: u8::from(
            (descriptor.marks)(&Config::defaults(descriptor)) == Marks::Answered,
        ),
        random: descriptor.random.into(),
        name: Text::of(descriptor.name),
        purpose: Text::of(descriptor.purpose),
        params,
        profiles,
        fields,
        specifications,
        create: Some(create),
        destroy: Some(destroy),
        error: Some(error),
        decision: Some(decision),
        observe: Some(observe),
        on_ack: Some(on_ack),
        on_sent: Some(on_sent),
        on_lost: Some(on_lost),
        on_acked: descriptor
            .needs
            .has(fullpipe_cc::Signals::ACKED_EACH)
            .then_some(on_acked),
        on_recovery: Some(on_recovery),
        on_unused: Some(on_unused),
        on_path: Some(on_path),
        on_frame: Some(on_frame),
        on_timer: Some(on_timer),
        on_end: Some(on_end),
    }
}

/// Returns the words of the panic that was just caught.
fn words_of_panic() -> String {
    let words = PANIC.with(RefCell::take);
    if words.is_empty() {
        "panicked".to_owned()
    } else {
        words
    }
}

unsafe extern "C" fn create(config: *const abi::Config) -> *mut c_void {
    let made = catch_unwind(|| {
        let descriptor = DESCRIPTOR.get().expect("the library was exported");
        // SAFETY: the host passes a valid configuration.
        let config = unsafe { config_of(descriptor, &*config) };
        let cc = match (descriptor.build)(&config, &mut Shared::default()) {
            AnyController::User(cc) => cc,
            built_in => Box::new(built_in),
        };
        Guest {
            hears: cc.hears_sent(),
            cc,
            rng: None,
            known: None,
            error: String::new(),
        }
    });
    match made {
        Ok(guest) => Box::into_raw(Box::new(guest)).cast(),
        Err(_) => core::ptr::null_mut(),
    }
}

/// # Safety
/// The list of `given` must be valid.
pub(crate) unsafe fn config_of(descriptor: &Descriptor, given: &abi::Config) -> Config {
    // SAFETY: the caller vouches for it.
    let values = unsafe { given.params.read() };
    let value = |param: &fullpipe_cc::Param, number: f64| match param.domain {
        Domain::Number { .. } => ParamValue::Number(number),
        Domain::Flag { .. } => ParamValue::Flag(number != 0.0),
        Domain::Choice(words) => ParamValue::Word(words[number as usize].to_owned()),
    };
    let params: BTreeMap<String, ParamValue> = descriptor
        .params
        .iter()
        .zip(values)
        .map(|(param, number)| (param.name.to_owned(), value(param, *number)))
        .collect();
    let smss = Bytes::new(given.smss);
    let mut config = Config::new(descriptor, &params, smss, Bytes::new(given.initial_cwnd))
        .expect("the host has checked the parameters");
    config.source = (given.source_min != NONE).then(|| MediaSource {
        min: Rate::from_bps(given.source_min),
        max: Rate::from_bps(given.source_max),
        frame_period: Span::from_nanos(given.source_frame_period),
    });
    config
}

unsafe extern "C" fn destroy(it: *mut c_void) {
    // SAFETY: the host passes what `create` returned, once.
    let guest = unsafe { Box::from_raw(it.cast::<Guest>()) };
    let _ = catch_unwind(AssertUnwindSafe(|| drop(guest)));
}

unsafe extern "C" fn error(it: *mut c_void) -> Text {
    if it.is_null() {
        // Leaked, since nothing else can own it; the run ends.
        return Text::of(words_of_panic().leak());
    }
    // SAFETY: the host passes what `create` returned.
    Text::of(unsafe { &(*it.cast::<Guest>()).error })
}

#[derive(Debug)]
struct HostObserver<'a>(&'a abi::Context);

impl Observer for HostObserver<'_> {
    fn transition(&mut self, _: Time, it: Transition) {
        let (from, to, reason) = (Text::of(it.from), Text::of(it.to), Text::of(it.reason));
        (self.0.transition)(self.0.host, from, to, reason);
    }
}

/// Why a call was not made: this version of the interface does not have its number.
const UNKNOWN: &str = "a number of the interface is unknown";

/// Makes a call of the contract, which returns whether the decision may have changed, and passes a
/// new decision to the host. A panic is an error.
///
/// # Safety
/// The pointers must be those that the host passes.
unsafe fn call(
    it: *mut c_void,
    cx: *const abi::Context,
    call: impl FnOnce(&mut dyn Controller, &mut Context<'_>) -> Result<bool, &'static str>,
) -> i32 {
    // SAFETY: the caller vouches for both.
    let (guest, told) = unsafe { (&mut *it.cast::<Guest>(), &*cx) };
    let Guest { cc, rng, known, .. } = guest;
    let made = catch_unwind(AssertUnwindSafe(|| -> Result<i32, &'static str> {
        let cx = &mut Context {
            now: Time::from_nanos(told.now),
            // SAFETY: the host's pointer is valid for the call.
            conn: unsafe { &*told.conn },
            rng: rng.get_or_insert_with(|| Rng::of(told.stream)),
            observer: &mut HostObserver(told),
        };
        if !call(&mut **cc, cx)? {
            return Ok(SAME);
        }
        let decision = cc.decision();
        if *known == Some(decision) {
            return Ok(SAME);
        }
        *known = Some(decision);
        // SAFETY: as above.
        unsafe { *told.decision = (&decision).into() };
        Ok(DECIDED)
    }));
    match made {
        Ok(Ok(code)) => code,
        Ok(Err(problem)) => fail(guest, problem.to_owned()),
        Err(_) => fail(guest, words_of_panic()),
    }
}

fn fail(guest: &mut Guest, error: String) -> i32 {
    guest.error = error;
    -1
}

macro_rules! calls {
    ($($name:ident($($argument:ident: $type:ty),*) => |$cc:ident, $cx:ident| $body:expr;)*) => {
        $(unsafe extern "C" fn $name(
            it: *mut c_void, told: *const abi::Context, $($argument: $type),*
        ) -> i32 {
            // SAFETY: the host keeps its side of the interface.
            unsafe { call(it, told, |$cc, $cx| $body) }
        })*
    };
}

unsafe extern "C" fn on_sent(
    it: *mut c_void,
    told: *const abi::Context,
    packet: *const abi::Snapshot,
) -> i32 {
    // SAFETY: the host keeps its side of the interface.
    unsafe {
        if !(*it.cast::<Guest>()).hears {
            return DEAF;
        }
        call(it, told, |cc, cx| Ok(cc.on_sent(cx, &*packet)))
    }
}

calls! {
    on_ack(ack: *const abi::Ack) => |cc, cx| { cc.on_ack(cx, &(&*ack).into()); Ok(true) };
    on_lost(lost: *const abi::Lost) => |cc, cx| { cc.on_lost(cx, &*lost); Ok(true) };
    on_acked(packet: *const abi::Snapshot) => |cc, cx| { cc.on_acked(cx, &*packet); Ok(true) };
    on_recovery(change: u32) => |cc, cx| {
        cc.on_recovery(cx, recovery_of(change).ok_or(UNKNOWN)?);
        Ok(true)
    };
    on_unused(cwnd: u64) => |cc, cx| { cc.on_unused(cx, Bytes::new(cwnd)); Ok(true) };
    on_path(change: u32, bytes: u64) => |cc, cx| {
        cc.on_path(cx, path_of(change, bytes).ok_or(UNKNOWN)?);
        Ok(true)
    };
    on_frame(size: u64, waited: u64) => |cc, cx| {
        let (size, waited) = (Bytes::new(size), Span::from_nanos(waited));
        cc.on_frame(cx, &fullpipe_cc::Frame { size, waited });
        Ok(true)
    };
    on_timer() => |cc, cx| { cc.on_timer(cx); Ok(true) };
    on_end() => |cc, cx| { cc.on_end(cx); Ok(true) };
}

unsafe extern "C" fn decision(it: *mut c_void, into: *mut abi::Decision) -> i32 {
    // SAFETY: the host passes what `create` returned.
    let guest = unsafe { &mut *it.cast::<Guest>() };
    match catch_unwind(AssertUnwindSafe(|| guest.cc.decision())) {
        Ok(found) => {
            guest.known = Some(found);
            // SAFETY: the host passes space for a decision.
            unsafe { *into = (&found).into() };
            0
        }
        Err(_) => fail(guest, words_of_panic()),
    }
}

unsafe extern "C" fn observe(it: *mut c_void, values: *mut f64) -> i32 {
    // SAFETY: the host passes what `create` returned.
    let guest = unsafe { &mut *it.cast::<Guest>() };
    let fields = DESCRIPTOR.get().map_or(0, |each| each.fields.len());
    let mut row = Vec::with_capacity(fields);
    if catch_unwind(AssertUnwindSafe(|| guest.cc.observe(&mut row))).is_err() {
        return fail(guest, words_of_panic());
    }
    if row.len() != fields {
        let error = format!("observe gave {} values for {fields} fields", row.len());
        return fail(guest, error);
    }
    // SAFETY: the host passes space for a value of each field.
    unsafe { core::ptr::copy_nonoverlapping(row.as_ptr(), values, fields) };
    0
}
