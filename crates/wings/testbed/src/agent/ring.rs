//! A ring of packets in memory shared with the kernel, which fills it while we empty it (packet(7),
//! PACKET_RX_RING). It needs no system call per packet; inside user-mode Linux, those calls would
//! take most of the time.

use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::errno::Errno;

/// Room for a frame, bytes: its header, its address and the packet's headers.
const FRAME: usize = 256;
const BLOCK: usize = 1 << 16;
const BLOCKS: usize = 512;
const FRAMES: usize = BLOCKS * BLOCK / FRAME;

/// A packet as it passed the interface.
#[derive(Debug)]
pub(super) struct Frame<'a> {
    /// CLOCK_REALTIME, ns.
    pub(super) time: u64,
    pub(super) out: bool,
    /// Length of the packet on the link.
    pub(super) length: u32,
    /// The packet's first bytes.
    pub(super) head: &'a [u8],
}

/// The shared memory, and the frame to read next.
#[derive(Debug)]
pub(super) struct Ring {
    memory: NonNull<u8>,
    next: usize,
}

impl Ring {
    /// Gives a ring to `socket`, a packet socket that is not bound yet.
    #[allow(unsafe_code, reason = "nix does not support rings")]
    pub(super) fn new(socket: &OwnedFd) -> Result<Ring, Errno> {
        let version = libc::tpacket_versions::TPACKET_V2 as libc::c_int;
        let request = libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: BLOCKS as u32,
            tp_frame_size: FRAME as u32,
            tp_frame_nr: FRAMES as u32,
        };
        let set = |name, value: *const libc::c_void, length: usize| {
            // SAFETY: the kernel reads `length` bytes at `value`, which has this size: both are
            // locals of this function.
            let result = unsafe {
                libc::setsockopt(
                    socket.as_raw_fd(),
                    libc::SOL_PACKET,
                    name,
                    value,
                    length as libc::socklen_t,
                )
            };
            Errno::result(result).map(drop)
        };
        set(
            libc::PACKET_VERSION,
            (&raw const version).cast(),
            size_of_val(&version),
        )?;
        set(
            libc::PACKET_RX_RING,
            (&raw const request).cast(),
            size_of_val(&request),
        )?;
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: this maps new memory at a place of the kernel's choice, until the process ends.
        let mapped = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                BLOCKS * BLOCK,
                rights,
                libc::MAP_SHARED,
                socket.as_raw_fd(),
                0,
            )
        };
        if mapped == libc::MAP_FAILED {
            return Err(Errno::last());
        }
        Ok(Ring {
            memory: NonNull::new(mapped.cast()).ok_or(Errno::ENOMEM)?,
            next: 0,
        })
    }

    /// Passes the oldest packet to `look` and removes it; `None` if the ring is empty.
    #[allow(unsafe_code, reason = "the kernel writes this memory, too")]
    pub(super) fn take<R>(&mut self, look: impl FnOnce(Frame) -> R) -> Option<R> {
        // SAFETY: `next` is below FRAMES, so the whole frame lies in the memory that `new` mapped.
        let frame = unsafe { self.memory.add(self.next * FRAME) };
        // SAFETY: a frame begins with its status, an aligned u32, which the kernel writes
        // atomically.
        let status = unsafe { AtomicU32::from_ptr(frame.cast().as_ptr()) };
        if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: with this status the frame is ours until we return it, and the kernel does not
        // write it. It has a header followed by an address.
        let (header, address) = unsafe {
            let behind = frame.add(size_of::<libc::tpacket2_hdr>().next_multiple_of(16));
            (
                frame.cast::<libc::tpacket2_hdr>().read(),
                behind.cast::<libc::sockaddr_ll>().read(),
            )
        };
        let start = usize::from(header.tp_net).min(FRAME);
        let kept = (header.tp_snaplen as usize).min(FRAME - start);
        // SAFETY: the range lies within the frame, as bounded above.
        let head = unsafe { std::slice::from_raw_parts(frame.add(start).as_ptr(), kept) };
        let shown = Frame {
            time: u64::from(header.tp_sec) * 1_000_000_000 + u64::from(header.tp_nsec),
            out: address.sll_pkttype == libc::PACKET_OUTGOING,
            length: header.tp_len,
            head,
        };
        let result = look(shown);
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % FRAMES;
        Some(result)
    }
}
