//! Bringing the state of the next flows into the cache while the present one's event is handled.
//!
//! With ten thousand flows each event begins with memory that no cache holds; what comes next is
//! known, so its loads can overlap. `docs/notebook/performance.md` has the figure.

/// Asks for the cache lines of `value`; changes nothing.
#[inline]
pub(crate) fn prefetch<T>(value: &T) {
    let start = core::ptr::from_ref(value).cast::<u8>();
    for offset in (0..size_of::<T>()).step_by(64) {
        prefetch_at(start.wrapping_add(offset).cast());
    }
}

/// Asks for the cache line at `address`.
#[inline]
#[allow(
    unsafe_code,
    reason = "a prefetch has no safe form on stable Rust; it may be given any address"
)]
pub(crate) fn prefetch_at(address: *const ()) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: prefetching is a hint: it accesses nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
