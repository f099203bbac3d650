//! Prefetching of the next flows' state into the cache while the current event is handled.
//!
//! With ten thousand flows, each event begins with memory that no cache holds. The next events are
//! known, so their loads can overlap. `docs/evidence/performance.md` has the measured effect.

/// Prefetches the cache lines of `value`; changes nothing.
#[inline]
pub(crate) fn prefetch<T>(value: &T) {
    let start = core::ptr::from_ref(value).cast::<u8>();
    for offset in (0..size_of::<T>()).step_by(64) {
        prefetch_at(start.wrapping_add(offset).cast());
    }
}

/// Prefetches the cache line at `address`.
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
