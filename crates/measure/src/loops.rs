//! Loops of calls that take a few nanoseconds each, for callers that subtract their cost. All of them are compiled with
//! this crate, and so with its optimisation, in every caller.

use crate::reads::counter_allowed;
use crate::sampler::Subject;
use std::hint::black_box;

/// A function of a vDSO, or of an image that is used as one.
pub type Function = unsafe extern "C" fn(usize, *mut libc::c_long) -> libc::c_int;

/// The name of a loop of `clock_gettime` through the C library.
#[must_use]
pub fn library(name: &str) -> String {
    format!("library {name}")
}

/// The name of a loop of the same by a system call.
#[must_use]
pub fn system_call(name: &str) -> String {
    format!("call {name}")
}

/// The name of a loop of independent calls of a function.
#[must_use]
pub fn apart(name: &str) -> String {
    format!("apart {name}")
}

/// The name of a loop of calls, each of which waits for the previous one.
#[must_use]
pub fn chained(name: &str) -> String {
    format!("chained {name}")
}

/// `clock_gettime` of these clocks, `gettimeofday` and `time`, each through the C library and by a system call. A clock
/// that the kernel does not have is left out of the first.
#[must_use]
pub fn both_ways(clocks: &[libc::clockid_t]) -> Vec<Subject<'static>> {
    let mut subjects = Vec::new();
    for id in clocks.iter().copied() {
        let name = id.to_string();
        if clock_gettime(id) {
            subjects.push(Subject::new(library(&name), move || clock_gettime(id)));
        }
        subjects.push(Subject::new(system_call(&name), move || {
            let mut time = [0 as libc::c_long; 2];
            // SAFETY: the call writes two longs to the pointer, which is to two live ones.
            unsafe { libc::syscall(libc::SYS_clock_gettime, id, time.as_mut_ptr()) == 0 }
        }));
    }
    subjects.push(Subject::new(library("gettimeofday"), || {
        let mut time = libc::timeval { tv_sec: 0, tv_usec: 0 };
        // SAFETY: the pointer is to a live, exclusively borrowed value of the right type.
        unsafe { libc::gettimeofday(&raw mut time, std::ptr::null_mut()) }
    }));
    // SAFETY: a null pointer is allowed.
    subjects.push(Subject::new(library("time"), || unsafe { libc::time(std::ptr::null_mut()) }));
    #[cfg(target_arch = "x86_64")]
    {
        subjects.push(Subject::new(system_call("gettimeofday"), || {
            let mut time = [0 as libc::c_long; 2];
            // SAFETY: the pointer is to two live, exclusively borrowed longs; the zone may be null.
            unsafe { libc::syscall(libc::SYS_gettimeofday, time.as_mut_ptr(), 0usize) }
        }));
        // SAFETY: a null pointer is allowed.
        subjects.push(Subject::new(system_call("time"), || unsafe {
            libc::syscall(libc::SYS_time, 0usize)
        }));
    }
    subjects
}

/// The counter, where this thread may read it, and the clocks of the library: "counter", "ordered", "coarse".
#[must_use]
pub fn own() -> Vec<Subject<'static>> {
    let mut subjects = Vec::new();
    if counter_allowed().is_ok() {
        subjects.push(Subject::new("counter", clocksmith_raw::counter::read));
    }
    subjects.push(Subject::new("ordered", clocksmith::monotonic_ordered_ns));
    subjects.push(Subject::new("coarse", clocksmith::monotonic_coarse_ns));
    subjects
}

/// Calls of a function that does nothing: the cost of the loop and of the call itself.
#[must_use]
pub fn empty() -> Subject<'static> {
    unsafe extern "C" fn nothing(_: usize, _: *mut libc::c_long) -> libc::c_int {
        0
    }
    Subject::new("empty", || {
        let mut time = [0 as libc::c_long; 2];
        // SAFETY: does nothing.
        unsafe { black_box(nothing as Function)(1, time.as_mut_ptr()) }
    })
}

/// Two loops of a function, [`apart`] and [`chained`]. A `clock` is its first argument, and the place of the result its
/// second; without one the place is the first, and the second is null.
///
/// # Safety
/// The function has these arguments, writes at most two words, and stays loaded for as long as the loops exist.
#[must_use]
pub unsafe fn of_function(
    name: &str,
    function: Function,
    clock: Option<libc::clockid_t>,
) -> [Subject<'static>; 2] {
    let waiting = move |calls: u32| {
        let (zero, mut at) = (black_box(0), 0);
        for _ in 0..calls {
            // SAFETY: as this function's.
            at = unsafe { call(function, clock, at) } & zero;
        }
        black_box(at);
    };
    // SAFETY: as this function's.
    let alone = move || unsafe { call(function, clock, 0) };
    [Subject::new(apart(name), alone), Subject::looping(chained(name), waiting)]
}

/// Makes one call, and returns its result. `at` is always 0, which the compiler does not know: the
/// address of the result depends on it, so a call waits for the one that returned `at`.
///
/// # Safety
/// As for [`of_function`].
unsafe fn call(function: Function, clock: Option<libc::clockid_t>, at: usize) -> usize {
    let mut time = [0 as libc::c_long; 2];
    let place = time.as_mut_ptr().wrapping_byte_add(at);
    // SAFETY: by the caller; the place has two words, and `at` is 0.
    unsafe {
        match clock {
            Some(clock) => function(clock as usize, place),
            None => function(place as usize, std::ptr::null_mut()),
        };
    }
    let [first, second] = *black_box(&mut time);
    (first | second) as usize
}

fn clock_gettime(id: libc::clockid_t) -> bool {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live, exclusively borrowed value of the right type.
    unsafe { libc::clock_gettime(id, &raw mut time) == 0 }
}
