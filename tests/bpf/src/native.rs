//! Libraries that `build.rs` builds of `bpf/`.

#![allow(unsafe_code)]

use std::ffi::{CString, c_void};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{fs, ptr};

use crate::Call;

/// Unit of a parameter: the type of its variable (bpf/include/fp_types.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// `fp_q16`: 2^-16
    Q16,
    /// `fp_us`: microseconds
    Us,
    /// `fp_count`: a whole number
    Count,
    /// `fp_flag`: 0 or 1
    Flag,
    /// `fp_word`: the place of a keyword among those of the descriptor
    Word,
}

/// A parameter, as the source declares it.
#[derive(Clone, Debug)]
pub struct Param {
    /// Name, the same as in fullpipe-cc.
    pub name: String,
    /// Unit.
    pub unit: Unit,
}

/// An algorithm with the state of one connection.
#[derive(Debug)]
pub struct Native {
    library: *mut c_void,
    run: unsafe extern "C" fn(*mut u64, *mut Call),
    read: unsafe extern "C" fn(*const u64, *const Call, *mut [u64; 18]),
    state: Vec<u64>,
    params: Vec<Param>,
}

impl Native {
    /// Loads the algorithm. A copy is loaded, so that its parameters are its own.
    pub fn new(name: &str) -> Native {
        static COPIES: AtomicU32 = AtomicU32::new(0);
        let built = Path::new(env!("OUT_DIR")).join(format!("{name}.so"));
        let copy = COPIES.fetch_add(1, Ordering::Relaxed);
        let file = built.with_file_name(format!("{name}-{}-{copy}.so", std::process::id()));
        fs::copy(&built, &file).expect("room for a copy of the library");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../bpf/{name}.bpf.c"));
        let text = fs::read_to_string(&source).expect("the source of the library");
        let params = text.lines().filter_map(declaration).collect();
        let path = CString::new(file.to_str().expect("a path in UTF-8")).expect("no zero byte");
        // SAFETY: the library has no constructors, and its functions have these types.
        unsafe {
            let library = libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
            fs::remove_file(&file).expect("the copy");
            assert!(!library.is_null(), "{} does not load", file.display());
            let sizes: [u64; 3] = ptr::read(symbol(library, "fp_sizes").cast());
            assert_eq!(sizes[1] as usize, size_of::<Call>(), "struct fp_call");
            assert_eq!(sizes[2] as usize, size_of::<[u64; 18]>(), "struct fp_row");
            Native {
                library,
                run: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut u64, *mut Call)>(
                    symbol(library, "fp_run"),
                ),
                read: std::mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(*const u64, *const Call, *mut [u64; 18]),
                >(symbol(library, "fp_read")),
                state: vec![0; (sizes[0] as usize).div_ceil(8)],
                params,
            }
        }
    }

    /// Returns the declared parameters.
    pub fn params(&self) -> &[Param] {
        &self.params
    }

    /// Returns the value of a parameter: a number in its unit, times in us.
    pub fn get(&self, param: &Param) -> f64 {
        let address = symbol(self.library, &param.name);
        // SAFETY: the variable has the type that the source declares.
        unsafe {
            match param.unit {
                Unit::Q16 => f64::from(ptr::read(address.cast::<u32>())) / 65_536.0,
                Unit::Us => ptr::read(address.cast::<u64>()) as f64,
                Unit::Count => f64::from(ptr::read(address.cast::<u32>())),
                Unit::Flag | Unit::Word => f64::from(ptr::read(address.cast::<u8>())),
            }
        }
    }

    /// Sets a parameter, as the loader does; times are in us.
    pub fn set(&mut self, name: &str, value: f64) {
        let param = self
            .params
            .iter()
            .find(|param| param.name == name)
            .expect("a parameter");
        let address = symbol(self.library, name);
        // SAFETY: the variable has the type that the source declares, and no other thread reads
        // it: the copy of the library is this value's.
        unsafe {
            match param.unit {
                Unit::Q16 => ptr::write(address.cast(), (value * 65_536.0).round() as u32),
                Unit::Us => ptr::write(address.cast(), value.round() as u64),
                Unit::Count => ptr::write(address.cast(), value as u32),
                Unit::Flag | Unit::Word => ptr::write(address.cast(), value as u8),
            }
        }
    }

    /// Makes a call.
    pub fn run(&mut self, call: &mut Call) {
        // SAFETY: the state has the size that the library needs, and the call its layout.
        unsafe { (self.run)(self.state.as_mut_ptr(), call) }
    }

    /// Returns the state that a trace shows: its index among the labels.
    pub fn state(&self, call: &Call) -> u8 {
        // Offset of `state` in struct fp_row: 5 numbers, 2 addresses, 3 ports, the kind.
        self.row(call)[9].to_ne_bytes()[7]
    }

    /// Returns the algorithm's values in a trace.
    pub fn values(&self, call: &Call) -> [u32; 5] {
        let bytes: Vec<u8> = self
            .row(call)
            .iter()
            .flat_map(|word| word.to_ne_bytes())
            .collect();
        core::array::from_fn(|place| {
            let at = 124 + 4 * place;
            u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
        })
    }

    fn row(&self, call: &Call) -> [u64; 18] {
        let mut row = [0_u64; 18];
        // SAFETY: as in `run`; the row has the size that the library fills in.
        unsafe { (self.read)(self.state.as_ptr(), call, &raw mut row) }
        row
    }
}

/// Records of sending: `struct fp_history` of bbr3.
#[derive(Debug)]
pub struct History {
    note: unsafe extern "C" fn(*mut u32, *const Sent, u32),
    recall: unsafe extern "C" fn(*mut u32, *mut Call, u32),
    records: Vec<u32>,
}

/// The connection when it is about to send: `struct fp_sent`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Sent {
    /// Counter of delivered packets.
    pub delivered: u32,
    /// Counter of lost packets.
    pub lost: u32,
    /// Packets in flight.
    pub inflight: u32,
    /// Sequence number of the next packet.
    pub snd_nxt: u32,
}

impl History {
    /// Begins without a record.
    pub fn new() -> History {
        let native = Native::new("bbr3");
        // SAFETY: the library exports these functions and this constant, and stays loaded.
        unsafe {
            let size: u64 = ptr::read(symbol(native.library, "fp_history_size").cast());
            History {
                note: std::mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(*mut u32, *const Sent, u32),
                >(symbol(native.library, "fp_note")),
                recall: std::mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(*mut u32, *mut Call, u32),
                >(symbol(native.library, "fp_recall")),
                records: vec![0; size as usize / 4],
            }
        }
    }

    /// Notes that packets are about to leave.
    pub fn note(&mut self, now: &Sent, cwnd: u32) {
        // SAFETY: `records` has the size of the structure.
        unsafe { (self.note)(self.records.as_mut_ptr(), now, cwnd) }
    }

    /// Sets `tx_inflight` and `tx_lost` for a packet that was sent once and ends at `end_seq`.
    pub fn recall(&mut self, call: &mut Call, end_seq: u32) {
        // SAFETY: as in `note`.
        unsafe { (self.recall)(self.records.as_mut_ptr(), call, end_seq) }
    }
}

impl Default for History {
    fn default() -> History {
        History::new()
    }
}

fn symbol(library: *mut c_void, name: &str) -> *mut c_void {
    let text = CString::new(name).expect("no zero byte");
    // SAFETY: the library is loaded and stays so.
    let address = unsafe { libc::dlsym(library, text.as_ptr()) };
    assert!(!address.is_null(), "the library lacks {name}");
    address
}

/// Reads the declaration of a parameter.
fn declaration(line: &str) -> Option<Param> {
    let (unit, rest) = line.strip_prefix("FP_PARAM fp_")?.split_once(' ')?;
    let unit = match unit {
        "q16" => Unit::Q16,
        "us" => Unit::Us,
        "count" => Unit::Count,
        "flag" => Unit::Flag,
        "word" => Unit::Word,
        other => panic!("unknown unit fp_{other}"),
    };
    let (name, _) = rest.split_once(" = ")?;
    Some(Param {
        name: name.to_owned(),
        unit,
    })
}
