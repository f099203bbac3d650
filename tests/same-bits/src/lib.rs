//! The trace hash of a scenario, for comparisons between targets. WebAssembly has no files and no
//! arguments, so there the texts come through memory.

use fullpipe::Error;
use fullpipe::prelude::*;

/// Returns the hash of a scenario's trace, with the records of each ACK.
///
/// # Errors
/// When the scenario is wrong.
pub fn trace_hash(text: &str) -> Result<u64, Error> {
    let scenario = Scenario::parse(text, "scenario")?;
    let run = fullpipe::run(&scenario, &Registry::default(), TraceLevel::Acks)?;
    Ok(run.trace.map_or(0, |trace| trace.hash()))
}

#[cfg(target_family = "wasm")]
#[expect(unsafe_code, reason = "a WebAssembly module shares its memory")]
mod module {
    /// Returns the address of `length` bytes for a text.
    #[unsafe(no_mangle)]
    extern "C" fn text_of(length: usize) -> *mut u8 {
        Box::leak(vec![0; length].into_boxed_slice()).as_mut_ptr()
    }

    /// Returns the trace hash of the scenario in these bytes, which it frees.
    #[unsafe(no_mangle)]
    extern "C" fn hash_of(text: *mut u8, length: usize) -> u64 {
        // SAFETY: the bytes are those that `text_of` has leaked.
        let text = unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(text, length)) };
        let text = String::from_utf8(text.into()).expect("text in UTF-8");
        super::trace_hash(&text).unwrap_or_else(|error| panic!("{error}"))
    }
}
