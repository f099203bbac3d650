//! The simulator as a WebAssembly module: `make wasm` builds it, `fullpipe explore` puts it into a page.
//!
//! The interface is plain: texts and columns go through the module's memory, and a page holds one
//! run at a time. A page calls `text` for room and writes the scenario there, then `open`,
//! `advance` until the run is over, and `finish`. Each of them leaves a reply, JSON in UTF-8;
//! the numbers of a trace lie behind it in the block that the reply describes.
//!
//! With `own`, a class of the page is an algorithm: the module calls it by three imported functions.

#[cfg(target_family = "wasm")]
mod columns;
#[cfg(target_family = "wasm")]
mod layout;
#[cfg(target_family = "wasm")]
mod own;
#[cfg(target_family = "wasm")]
mod session;

#[cfg(target_family = "wasm")]
#[expect(unsafe_code, reason = "a WebAssembly module shares its memory")]
mod exports {
    use std::cell::RefCell;

    use crate::own;
    use crate::session::Session;

    thread_local! {
        static SESSION: RefCell<Session> = RefCell::default();
    }

    fn session<R>(act: impl FnOnce(&mut Session) -> R) -> R {
        SESSION.with_borrow_mut(act)
    }

    /// Returns the address of `length` bytes for the text of a scenario.
    #[unsafe(no_mangle)]
    extern "C" fn text(length: usize) -> *mut u8 {
        session(|session| session.room(length).as_mut_ptr())
    }

    /// Reads the scenario in the text and prepares its run, with a row of the trace at each
    /// interval in nanoseconds, or at each ACK if it is 0. Returns 1, or 0 with an error as reply.
    #[unsafe(no_mangle)]
    extern "C" fn open(interval_ns: u64) -> u32 {
        session(|session| session.open(interval_ns).into())
    }

    /// Records each packet that is sent between two times in nanoseconds.
    #[unsafe(no_mangle)]
    extern "C" fn log_packets(from_ns: u64, to_ns: u64) {
        session(|session| session.log_packets(from_ns, to_ns));
    }

    /// Advances the run by about that many steps. Returns 1 when it is over.
    #[unsafe(no_mangle)]
    extern "C" fn advance(steps: u64) -> u32 {
        session(|session| session.advance(steps).into())
    }

    /// Advances the run to a time in nanoseconds. Returns 1 when it is over.
    #[unsafe(no_mangle)]
    extern "C" fn advance_to(at_ns: u64) -> u32 {
        session(|session| session.advance_to(at_ns).into())
    }

    /// Returns the time of the run in seconds.
    #[unsafe(no_mangle)]
    extern "C" fn now() -> f64 {
        session(|session| session.now())
    }

    /// Replies with the trace so far. The run goes on.
    #[unsafe(no_mangle)]
    extern "C" fn so_far() {
        session(|session| session.so_far());
    }

    /// Ends the run and replies with its metrics, the verdicts on them, its trace and the trace's
    /// hash.
    #[unsafe(no_mangle)]
    extern "C" fn finish() {
        session(|session| session.finish());
    }

    /// Makes the class that the text describes, JSON, an algorithm of all later runs.
    #[unsafe(no_mangle)]
    extern "C" fn own() {
        session(|session| session.own());
    }

    /// Returns the address of the numbers that go to a call of the class and come back.
    #[unsafe(no_mangle)]
    extern "C" fn slots() -> *const f64 {
        own::slots()
    }

    /// Returns a random number for the call under way.
    #[unsafe(no_mangle)]
    extern "C" fn random() -> f64 {
        own::random()
    }

    /// Returns the address of `length` bytes for a state or a reason, whose number `word` returns.
    #[unsafe(no_mangle)]
    extern "C" fn word_text(length: usize) -> *mut u8 {
        own::word_room(length)
    }

    /// Returns the number of the state or reason; `u32::MAX` if there are too many.
    #[unsafe(no_mangle)]
    extern "C" fn word() -> u32 {
        own::word()
    }

    /// Notes that the call under way changed the state, by the numbers of words.
    #[unsafe(no_mangle)]
    extern "C" fn transition(from: usize, to: usize, reason: usize) {
        own::transition(from, to, reason);
    }

    /// Replies with the version, and with the order of the arguments of a class's methods.
    #[unsafe(no_mangle)]
    extern "C" fn version() {
        session(|session| session.version());
    }

    /// Returns the address of the reply.
    #[unsafe(no_mangle)]
    extern "C" fn reply_at() -> *const u8 {
        session(|session| session.reply.as_ptr())
    }

    /// Returns the length of the reply in bytes.
    #[unsafe(no_mangle)]
    extern "C" fn reply_length() -> usize {
        session(|session| session.reply.len())
    }

    /// Returns the address of the numbers that the reply describes.
    #[unsafe(no_mangle)]
    extern "C" fn block_at() -> *const u8 {
        session(|session| session.block.as_ptr())
    }

    /// Returns their length in bytes.
    #[unsafe(no_mangle)]
    extern "C" fn block_length() -> usize {
        session(|session| session.block.len())
    }
}
