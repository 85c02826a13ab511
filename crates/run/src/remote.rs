//! Another process, stopped: its memory, its registers, system calls in its name.

use std::io;

/// A thread of another process that this one traces, and that is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Remote(pub(crate) libc::pid_t);

#[cfg(target_arch = "x86_64")]
type Registers = libc::user_regs_struct;

/// Other architectures have no image, and do not reach this code.
#[cfg(not(target_arch = "x86_64"))]
#[derive(Clone, Copy, Debug, Default)]
struct Registers {
    rip: u64,
    rax: u64,
    orig_rax: u64,
    rdi: u64,
    rsi: u64,
    rdx: u64,
    r10: u64,
    r8: u64,
    r9: u64,
    rsp: u64,
}

fn checked(result: libc::c_long) -> io::Result<libc::c_long> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

impl Remote {
    fn request(self, request: libc::c_uint, address: usize, data: usize) -> io::Result<()> {
        // SAFETY: requests with numbers only; those with pointers are below.
        checked(unsafe { libc::ptrace(request as _, self.0, address, data) }).map(drop)
    }

    /// Begins to trace a process that runs, without stopping it.
    pub(crate) fn seize(self, options: libc::c_int) -> io::Result<()> {
        self.request(libc::PTRACE_SEIZE as _, 0, options as usize)
    }

    /// Lets the process continue, with that signal.
    pub(crate) fn resume(self, signal: libc::c_int) -> io::Result<()> {
        self.request(libc::PTRACE_CONT as _, 0, signal as usize)
    }

    /// Leaves the process stopped (by job control), and waits for the next event.
    pub(crate) fn listen(self) -> io::Result<()> {
        self.request(libc::PTRACE_LISTEN as _, 0, 0)
    }

    /// Detaches from it for good, with that signal.
    pub(crate) fn detach(self, signal: libc::c_int) -> io::Result<()> {
        self.request(libc::PTRACE_DETACH as _, 0, signal as usize)
    }

    #[cfg(target_arch = "x86_64")]
    fn registers(self) -> io::Result<Registers> {
        // SAFETY: a struct of numbers; the kernel fills it.
        let mut registers: Registers = unsafe { core::mem::zeroed() };
        // SAFETY: the pointer is to a struct of the right kind.
        checked(unsafe { libc::ptrace(libc::PTRACE_GETREGS, self.0, 0usize, &raw mut registers) })?;
        Ok(registers)
    }

    #[cfg(target_arch = "x86_64")]
    fn set_registers(self, registers: &Registers) -> io::Result<()> {
        // SAFETY: as above.
        checked(unsafe {
            libc::ptrace(libc::PTRACE_SETREGS, self.0, 0usize, &raw const *registers)
        })
        .map(drop)
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn registers(self) -> io::Result<Registers> {
        Err(io::ErrorKind::Unsupported.into())
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn set_registers(self, _: &Registers) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Reads memory; how much could be read.
    pub(crate) fn read(self, address: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let here = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        let there = libc::iovec { iov_base: address as *mut _, iov_len: buffer.len() };
        // SAFETY: writes into the buffer, no more than its length.
        let result =
            unsafe { libc::process_vm_readv(self.0, &raw const here, 1, &raw const there, 1, 0) };
        usize::try_from(result).map_err(|_| io::Error::last_os_error())
    }

    /// Reads all of it.
    pub(crate) fn read_exact(self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        if self.read(address, buffer)? == buffer.len() {
            Ok(())
        } else {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
    }

    /// Writes memory that the process may write to itself.
    pub(crate) fn write(self, address: u64, bytes: &[u8]) -> io::Result<()> {
        let here = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        let there = libc::iovec { iov_base: address as *mut _, iov_len: bytes.len() };
        // SAFETY: reads from the slice only.
        let result =
            unsafe { libc::process_vm_writev(self.0, &raw const here, 1, &raw const there, 1, 0) };
        match usize::try_from(result) {
            Ok(length) if length == bytes.len() => Ok(()),
            Ok(_) => Err(io::ErrorKind::WriteZero.into()),
            Err(_) => Err(io::Error::last_os_error()),
        }
    }

    /// Continues to the next beginning or end of a system call. Signals that come meanwhile are kept in
    /// `held`.
    fn to_call(self, held: &mut Vec<libc::c_int>) -> io::Result<()> {
        loop {
            self.request(libc::PTRACE_SYSCALL as _, 0, 0)?;
            let status = wait(self.0)?;
            if !libc::WIFSTOPPED(status) {
                return Err(gone());
            }
            match (libc::WSTOPSIG(status), status >> 16) {
                (signal, 0) if signal == libc::SIGTRAP | 0x80 => return Ok(()),
                // A stop was requested for it, or for a new process: continue once more.
                (_, libc::PTRACE_EVENT_STOP) => {}
                (signal, 0) => held.push(signal),
                _ => {}
            }
        }
    }
}

fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the process has ended")
}

/// Waits for one process, as its tracer.
pub(crate) fn wait(pid: libc::pid_t) -> io::Result<libc::c_int> {
    let mut status = 0;
    loop {
        // SAFETY: writes one int.
        if unsafe { libc::waitpid(pid, &raw mut status, libc::__WALL) } != -1 {
            return Ok(status);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// A process that has been stopped at the end of a call of `execve`, and that makes system calls for
/// its tracer. Only these calls change the process: it continues with its previous registers, and
/// its text is not written.
pub(crate) struct Borrowed {
    remote: Remote,
    registers: Registers,
    syscall: u64,
    held: Vec<libc::c_int>,
}

impl Borrowed {
    /// Takes a process that is stopped by `PTRACE_EVENT_EXEC`; brings it to the end of that call,
    /// where its registers are those of the new program.
    pub(crate) fn after_exec(remote: Remote) -> io::Result<Self> {
        let mut held = Vec::new();
        remote.to_call(&mut held)?;
        Ok(Self { remote, registers: remote.registers()?, syscall: 0, held })
    }

    /// The stack pointer.
    pub(crate) fn stack(&self) -> u64 {
        self.registers.rsp
    }

    /// Sets the address of a system call instruction.
    pub(crate) fn use_instruction(&mut self, address: u64) {
        self.syscall = address;
    }

    /// A system call. Errors are also the kernel's for it.
    pub(crate) fn call(&mut self, number: libc::c_long, arguments: [u64; 6]) -> io::Result<u64> {
        let mut registers = self.registers;
        registers.rip = self.syscall;
        registers.rax = number as u64;
        // Prevents the kernel from restarting an interrupted call.
        registers.orig_rax = u64::MAX;
        [registers.rdi, registers.rsi, registers.rdx, registers.r10, registers.r8, registers.r9] =
            arguments;
        self.remote.set_registers(&registers)?;
        self.remote.to_call(&mut self.held)?;
        self.remote.to_call(&mut self.held)?;
        let result = self.remote.registers()?.rax;
        match (result as i64).wrapping_neg() {
            error @ 1..4096 => Err(io::Error::from_raw_os_error(error as i32)),
            _ => Ok(result),
        }
    }

    /// Restores the registers. The signals that came meanwhile are sent again, so that the code
    /// that resumes the process delivers them.
    pub(crate) fn give_back(self) -> io::Result<()> {
        let registers = Registers { orig_rax: u64::MAX, ..self.registers };
        let result = self.remote.set_registers(&registers);
        for signal in self.held {
            // SAFETY: sends a signal to a process that is traced, and so is still that one.
            unsafe { libc::syscall(libc::SYS_tgkill, self.remote.0, self.remote.0, signal) };
        }
        result
    }
}
