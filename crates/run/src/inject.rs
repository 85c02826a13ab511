//! Puts the image into one program, between the end of `execve` and its first instruction.

use crate::image::{Image, Parts, bytes};
use crate::original::{self, Original};
use crate::remote::{Borrowed, Remote};
use crate::stack::{self, AT_HWCAP2, AT_SECURE, AT_SYSINFO_EHDR, HWCAP2_FSGSBASE};
use crate::target::{self, Refusal};
use clocksmith_raw::IMAGE;
use clocksmith_raw::layout::{LOCAL, PAGE};
use std::io::{self, Read};

/// The largest stack that is read: the kernel allows arguments of 6 MiB.
const LARGEST_STACK: usize = 16 << 20;
/// Offset of the mapping's name in the page of settings.
const NAME_AT: usize = PAGE / 2;
/// The name that `/proc/PID/maps` shows (since 5.17, if it is configured).
const NAME: &[u8] = b"clocksmith\0";
const PR_SET_VMA: u64 = 0x5356_4d41;

/// Memory in a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Injected {
    /// Where the counts are.
    pub(crate) counts: Option<u64>,
}

/// Gives a program the image. The program is stopped by `PTRACE_EVENT_EXEC`; afterwards it is
/// stopped at the end of that call, even after an error.
pub(crate) fn inject(remote: Remote, image: &Image) -> Result<Injected, Refusal> {
    let Some(parts) = image.parts() else { return Err(Refusal::NotSixtyFour) };
    // Before any change to the process.
    kind(remote)?;
    let mut borrowed = Borrowed::after_exec(remote).map_err(failed("reaching the program"))?;
    let result = fill(remote, &mut borrowed, image, parts);
    borrowed.give_back().map_err(failed("restoring registers"))?;
    result
}

fn failed(what: &'static str) -> impl FnOnce(io::Error) -> Refusal {
    move |error| Refusal::Failed { what, error: error.to_string() }
}

/// Checks the kind of the program, and its user.
fn kind(remote: Remote) -> Result<(), Refusal> {
    let directory = format!("/proc/{}", remote.0);
    let mut head = [0; 20];
    std::fs::File::open(format!("{directory}/exe"))
        .and_then(|mut file| file.read_exact(&mut head))
        .map_err(failed("reading its file"))?;
    if !target::is_sixty_four(&head) {
        return Err(Refusal::NotSixtyFour);
    }
    let status =
        std::fs::read(format!("{directory}/status")).map_err(failed("reading its status"))?;
    let status = String::from_utf8_lossy(&status);
    // SAFETY: only returns a number.
    let own = unsafe { libc::geteuid() };
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
    match users.split_whitespace().filter_map(|id| id.parse().ok()).find(|id: &u32| *id != own) {
        Some(other) => Err(Refusal::AnotherUser(other)),
        None => Ok(()),
    }
}

fn fill(
    remote: Remote,
    borrowed: &mut Borrowed,
    image: &Image,
    parts: Parts,
) -> Result<Injected, Refusal> {
    let vector = vector(remote, borrowed.stack())?;
    if stack::value(&vector, AT_SECURE).is_some_and(|(secure, _)| secure != 0) {
        // Only root's tracer leaves a program the rights of its file (`ptracer_capable()`, kernel/ptrace.c).
        // SAFETY: only returns a number.
        let given = unsafe { libc::geteuid() } == 0;
        return Err(if given { Refusal::Secure } else { Refusal::LosesRights });
    }
    let (base, at) = stack::value(&vector, AT_SYSINFO_EHDR)
        .filter(|(base, _)| *base != 0)
        .ok_or(Refusal::NoVdso)?;
    let mut vdso = vec![0; original::LONGEST];
    let length = remote.read(base, &mut vdso).map_err(failed("reading its vDSO"))?;
    let original = vdso
        .get(..length)
        .and_then(|vdso| Original::parse(vdso, base))
        .ok_or(Refusal::StrangeVdso)?;
    borrowed.use_instruction(original.syscall);
    let fsgsbase =
        stack::value(&vector, AT_HWCAP2).is_some_and(|(bits, _)| bits & HWCAP2_FSGSBASE != 0);

    let memory = borrowed
        .call(
            libc::SYS_mmap,
            [
                0,
                parts.length as u64,
                (libc::PROT_READ | libc::PROT_WRITE) as u64,
                (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64,
                u64::MAX,
                0,
            ],
        )
        .map_err(failed("mapping memory in it"))?;
    let address = borrowed.stack().wrapping_add(at as u64);
    let filled =
        settle(remote, borrowed, image, parts, memory, &original, fsgsbase).and_then(|()| {
            let place = memory.wrapping_add(parts.image.0 as u64);
            remote
                .write(address, &place.to_le_bytes())
                .map_err(failed("writing the auxiliary vector"))
        });
    if filled.is_err() {
        // The memory is released, so that the process is unchanged.
        let _ = borrowed.call(libc::SYS_munmap, [memory, parts.length as u64, 0, 0, 0, 0]);
    }
    filled?;
    Ok(Injected { counts: parts.counts.map(|(offset, _)| memory.wrapping_add(offset as u64)) })
}

/// The step that restrictions on executable memory refuse: those of SELinux, and those that a program has set for
/// itself.
const NOT_EXECUTABLE: &str = "making the image executable (SELinux's execmem, MemoryDenyWriteExecute= of a unit, or PR_SET_MDWE may \
                              forbid it)";

/// Writes the pages, and sets their protection: no page is both writable and executable.
fn settle(
    remote: Remote,
    borrowed: &mut Borrowed,
    image: &Image,
    parts: Parts,
    memory: u64,
    original: &Original,
    fsgsbase: bool,
) -> Result<(), Refusal> {
    let at = |offset: usize| memory.wrapping_add(offset as u64);
    let config = image.config(memory, original, fsgsbase);
    remote.write(memory, &bytes(&config)).map_err(failed("writing its settings"))?;
    remote.write(at(NAME_AT), NAME).map_err(failed("writing its settings"))?;
    remote
        .write(at(parts.image.0), IMAGE.unwrap_or_default())
        .map_err(failed("writing the image"))?;
    let mut protect = |offset: usize, length: usize, protection: libc::c_int| {
        borrowed
            .call(libc::SYS_mprotect, [at(offset), length as u64, protection as u64, 0, 0, 0])
            .map(drop)
    };
    protect(0, PAGE, libc::PROT_READ).map_err(failed("protecting its settings"))?;
    protect(parts.image.0, parts.image.1, libc::PROT_READ | libc::PROT_EXEC)
        .map_err(failed(NOT_EXECUTABLE))?;
    let wiped = [Some((LOCAL, PAGE)), parts.counts];
    for (offset, length) in wiped.into_iter().flatten() {
        let arguments = [at(offset), length as u64, libc::MADV_WIPEONFORK as u64, 0, 0, 0];
        borrowed
            .call(libc::SYS_madvise, arguments)
            .map_err(failed("having memory cleared in children (since Linux 4.14)"))?;
    }
    // A name for users who examine its memory; older kernels refuse, and nothing depends on it.
    let arguments = [PR_SET_VMA, 0, memory, parts.length as u64, at(NAME_AT), 0];
    let _ = borrowed.call(libc::SYS_prctl, arguments);
    Ok(())
}

/// The auxiliary vector, which follows all arguments and the environment.
fn vector(remote: Remote, stack: u64) -> Result<Vec<(u64, u64, usize)>, Refusal> {
    let mut length = 32 << 10;
    loop {
        let mut bytes = vec![0; length];
        let there = remote.read(stack, &mut bytes).map_err(failed("reading its stack"))?;
        bytes.truncate(there);
        if let Some(found) = stack::auxiliary(&bytes) {
            return Ok(found);
        }
        if there < length || length >= LARGEST_STACK {
            return Err(Refusal::Failed {
                what: "reading its stack",
                error: "no auxiliary vector there".to_owned(),
            });
        }
        length *= 4;
    }
}
