//! Bringing the next flow's state into the cache while the present one's event is handled.
//!
//! With ten thousand flows each event begins with memory that no cache holds; what comes next is known, so its loads can
//! overlap. `docs/performance.md` has the figure.

/// Asks for the cache lines of `value`; changes nothing.
#[inline]
#[allow(unsafe_code, reason = "a prefetch has no safe form on stable Rust; it may be given any address")]
pub(crate) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let start = core::ptr::from_ref(value).cast::<i8>();
        for offset in (0..size_of::<T>()).step_by(64) {
            // SAFETY: prefetching is a hint: it accesses nothing, and the addresses are within `value`.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.add(offset)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
