//! The clocks of clocksmith as Python functions: the module `clocksmith._native`.
//!
//! It uses the C interface of CPython (the stable one, 3.9 and later) without a layer between: each
//! function takes no argument (`METH_NOARGS`), or a clock's number (`METH_O`), reads a clock and makes one number.

use clocksmith::vmclock::{Maintenance, State, Unavailable, VmClock};
use core::ffi::{CStr, c_int};
use core::ptr;
use pyo3_ffi::*;

/// A function of the module, as CPython calls it: the module, and no argument.
type Function = unsafe extern "C" fn(*mut PyObject, *mut PyObject) -> *mut PyObject;

/// A function of the module that returns the result of `$make` for `$value`.
macro_rules! function {
    ($name:literal, $make:path, $value:expr, $doc:literal) => {{
        unsafe extern "C" fn call(_: *mut PyObject, _: *mut PyObject) -> *mut PyObject {
            // SAFETY: CPython calls this with a thread that may make objects, which is the only
            // requirement of the constructors of numbers. A null pointer from them (no memory) is
            // returned with their exception set, as CPython requires.
            unsafe { $make($value) }
        }
        // The first line is the signature, for `help` and `inspect`.
        method(
            zero_ended(concat!($name, "\0")),
            call,
            zero_ended(concat!($name, "()\n--\n\n", $doc, "\0")),
        )
    }};
}

/// A function of the module that returns the result of `$make` for the time of a clock by its number.
macro_rules! by_id {
    ($name:literal, $make:path, $doc:literal) => {{
        unsafe extern "C" fn call(_: *mut PyObject, id: *mut PyObject) -> *mut PyObject {
            // SAFETY: CPython calls this with an object, in a thread that may make objects.
            unsafe {
                match clock_id(id).and_then(|id| time_of(id)) {
                    Some(ns) => $make(ns),
                    // The exception is set.
                    None => ptr::null_mut(),
                }
            }
        }
        PyMethodDef {
            ml_flags: METH_O,
            ..method(
                zero_ended(concat!($name, "\0")),
                call,
                zero_ended(concat!($name, "(clk_id, /)\n--\n\n", $doc, "\0")),
            )
        }
    }};
}

/// A clock in nanoseconds.
macro_rules! ns {
    ($name:literal, $clock:path, $doc:literal) => {
        function!($name, PyLong_FromUnsignedLongLong, $clock(), $doc)
    };
}

/// A clock in seconds, divided as the `time` module divides.
macro_rules! seconds {
    ($name:literal, $clock:path, $doc:literal) => {
        function!($name, PyFloat_FromDouble, $clock() as f64 / 1e9, $doc)
    };
}

const COUNT: usize = 25;

static mut METHODS: [PyMethodDef; COUNT] = [
    ns!(
        "monotonic_ns",
        clocksmith::monotonic_ns,
        "CLOCK_MONOTONIC in nanoseconds, as time.monotonic_ns()."
    ),
    seconds!(
        "monotonic",
        clocksmith::monotonic_ns,
        "CLOCK_MONOTONIC in seconds, as time.monotonic()."
    ),
    ns!(
        "monotonic_ordered_ns",
        clocksmith::monotonic_ordered_ns,
        "CLOCK_MONOTONIC in nanoseconds, ordered: never earlier than a time that another thread\n\
         took and this one has seen. The other fine clocks may be, by a few nanoseconds."
    ),
    seconds!(
        "monotonic_ordered",
        clocksmith::monotonic_ordered_ns,
        "CLOCK_MONOTONIC in seconds, ordered: see monotonic_ordered_ns()."
    ),
    ns!(
        "monotonic_coarse_ns",
        clocksmith::monotonic_coarse_ns,
        "CLOCK_MONOTONIC_COARSE in nanoseconds: the time at the kernel's last tick, 1 to 10 ms ago."
    ),
    ns!(
        "perf_counter_ns",
        clocksmith::monotonic_ns,
        "The same as monotonic_ns(), as in the time module."
    ),
    seconds!(
        "perf_counter",
        clocksmith::monotonic_ns,
        "The same as monotonic(), as in the time module."
    ),
    ns!(
        "time_ns",
        clocksmith::realtime_ns,
        "CLOCK_REALTIME in nanoseconds since 1970, as time.time_ns()."
    ),
    seconds!(
        "time",
        clocksmith::realtime_ns,
        "CLOCK_REALTIME in seconds since 1970, as time.time()."
    ),
    ns!(
        "realtime_ns",
        clocksmith::realtime_ns,
        "CLOCK_REALTIME in nanoseconds since 1970: another name of time_ns()."
    ),
    ns!(
        "realtime_ordered_ns",
        clocksmith::realtime_ordered_ns,
        "CLOCK_REALTIME in nanoseconds since 1970, ordered: see monotonic_ordered_ns()."
    ),
    seconds!(
        "realtime_ordered",
        clocksmith::realtime_ordered_ns,
        "CLOCK_REALTIME in seconds since 1970, ordered: see monotonic_ordered_ns()."
    ),
    ns!(
        "realtime_coarse_ns",
        clocksmith::realtime_coarse_ns,
        "CLOCK_REALTIME_COARSE in nanoseconds since 1970: the time at the kernel's last tick."
    ),
    function!(
        "realtime_bounded_ns",
        pair,
        clocksmith::realtime_bounded(),
        "The two times between which true time lies, in nanoseconds since 1970: (earliest, latest), by\n\
         the kernel's bound of its error. (0, 2**64 - 1) if the clock is not synchronised."
    ),
    ns!(
        "boottime_ns",
        clocksmith::boottime_ns,
        "CLOCK_BOOTTIME in nanoseconds: monotonic, and continues while the machine sleeps."
    ),
    ns!(
        "monotonic_raw_ns",
        clocksmith::monotonic_raw_ns,
        "CLOCK_MONOTONIC_RAW in nanoseconds: monotonic, with a rate that is not steered."
    ),
    ns!(
        "tai_ns",
        clocksmith::tai_ns,
        "CLOCK_TAI in nanoseconds since 1970: counts leap seconds, if the kernel knows their number."
    ),
    by_id!(
        "clock_gettime_ns",
        PyLong_FromLongLong,
        "The time of a clock in nanoseconds, as time.clock_gettime_ns(), ordered."
    ),
    by_id!(
        "clock_gettime",
        seconds,
        "The time of a clock in seconds, as time.clock_gettime(), ordered."
    ),
    function!(
        "is_slow",
        verdict,
        clocksmith::is_slow(),
        "Whether reading the clock by the time module is slow here, as it is where the clocksource is hpet or\n\
         acpi_pm, or a hypervisor traps the counter: (True, False or None, the reason). Takes about a\n\
         millisecond; where a read takes tens of microseconds, ten."
    ),
    function!(
        "source",
        text,
        clocksmith::source().name(),
        "The source that serves monotonic_ns() now: 'vvar' (the kernel's own numbers and the\n\
         counter), 'pvclock' or 'hyperv-page' (the same over a hypervisor's page), 'disciplined' (a line\n\
         through the kernel's clock), 'vdso', 'syscall' or 'std'."
    ),
    function!(
        "disruption_marker",
        number_or_none,
        clocksmith::vmclock::VmClock::open().ok().map(|clock| clock.disruption_marker()),
        "A number that changes when this machine was migrated or restored from a snapshot, by the\n\
         hypervisor's VMCLOCK device (/dev/vmclock0); None if there is none that can be read: vmclock()[1]\n\
         says why."
    ),
    function!(
        "vmclock",
        vmclock,
        clocksmith::vmclock::VmClock::open(),
        "What the hypervisor says of this machine's clock, by its VMCLOCK device: (a dict, or None; the\n\
         reason for None, or ''). The keys are those of struct clocksmith_vmclock in clocksmith.h, and\n\
         'utc_bounded_ns'; what the hypervisor does not state is None."
    ),
    function!("version", text, env!("CARGO_PKG_VERSION"), "The version of the library."),
    PyMethodDef::zeroed(),
];

/// Declarations of the module, from the version of CPython on that knows them; older ones refuse to load a module with
/// an unknown slot. Numbers and values are those of the stable interface (`Include/moduleobject.h`).
const MULTIPLE_INTERPRETERS: PyModuleDef_Slot = slot(3, 2);
const GIL: PyModuleDef_Slot = slot(4, 1);
const END: PyModuleDef_Slot = slot(0, 0);

/// 3.12: interpreters with separate locks may have the module.
static mut SLOTS_12: [PyModuleDef_Slot; 2] = [MULTIPLE_INTERPRETERS, END];
/// 3.13: it does not need the global lock either, in builds without one.
static mut SLOTS_13: [PyModuleDef_Slot; 3] = [MULTIPLE_INTERPRETERS, GIL, END];

// One definition for each version; none is changed: two interpreters may import the module at the same time.
static mut MODULE: PyModuleDef = module(ptr::null_mut());
static mut MODULE_12: PyModuleDef = module((&raw mut SLOTS_12).cast());
static mut MODULE_13: PyModuleDef = module((&raw mut SLOTS_13).cast());

const fn slot(slot: c_int, value: usize) -> PyModuleDef_Slot {
    PyModuleDef_Slot { slot, value: ptr::without_provenance_mut(value) }
}

const fn module(slots: *mut PyModuleDef_Slot) -> PyModuleDef {
    PyModuleDef {
        m_base: PyModuleDef_HEAD_INIT,
        m_name: c"clocksmith._native".as_ptr(),
        m_doc: c"The clocks of clocksmith; see the package clocksmith.".as_ptr(),
        // No state: every interpreter of the process may have the module.
        m_size: 0,
        m_methods: (&raw mut METHODS).cast(),
        m_slots: slots,
        m_traverse: None,
        m_clear: None,
        m_free: None,
    }
}

/// The minor version in a text like `3.12.1 (main, ...)`; 0 for another text.
fn minor(version: &[u8]) -> u32 {
    let Some(rest) = version.strip_prefix(b"3.") else { return 0 };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).take(4);
    digits.fold(0, |number, digit| number * 10 + u32::from(digit - b'0'))
}

/// Called by `import`.
///
/// # Safety
///
/// The caller is CPython, with a thread that may make objects.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PyInit__native() -> *mut PyObject {
    // SAFETY: a text that ends with a zero and stays; and only CPython reads or writes the definition, after this.
    unsafe {
        PyModuleDef_Init(match minor(CStr::from_ptr(Py_GetVersion()).to_bytes()) {
            0..12 => &raw mut MODULE,
            12 => &raw mut MODULE_12,
            13.. => &raw mut MODULE_13,
        })
    }
}

/// The number of a clock; none with an exception set, as `time.clock_gettime` has it.
///
/// # Safety
///
/// An object, in a thread that may make objects.
unsafe fn clock_id(object: *mut PyObject) -> Option<libc::clockid_t> {
    // SAFETY: by the contract; the number is this function's. The exceptions are objects that stay.
    unsafe {
        // A value that is not a whole number is refused here.
        let number = PyNumber_Index(object);
        if number.is_null() {
            return None;
        }
        let id = PyLong_AsLong(number);
        Py_DECREF(number);
        if id == -1 && !PyErr_Occurred().is_null() {
            return None;
        }
        let id = libc::clockid_t::try_from(id);
        if id.is_err() {
            let text = c"the number of a clock does not fit in a C int";
            PyErr_SetString(PyExc_OverflowError, text.as_ptr());
        }
        id.ok()
    }
}

/// The time of a clock in nanoseconds; none with an exception set. By the kernel, if the clock is not one of the
/// library's: clocks of processes, threads and devices, alarms.
///
/// # Safety
///
/// The thread may make objects.
unsafe fn time_of(id: libc::clockid_t) -> Option<i64> {
    let ours = match id {
        libc::CLOCK_MONOTONIC => Some(clocksmith::monotonic_ordered_ns()),
        libc::CLOCK_REALTIME => Some(clocksmith::realtime_ordered_ns()),
        #[cfg(target_os = "linux")]
        libc::CLOCK_MONOTONIC_COARSE => Some(clocksmith::monotonic_coarse_ns()),
        #[cfg(target_os = "linux")]
        libc::CLOCK_REALTIME_COARSE => Some(clocksmith::realtime_coarse_ns()),
        #[cfg(target_os = "linux")]
        libc::CLOCK_BOOTTIME => Some(clocksmith::boottime_ordered_ns()),
        #[cfg(target_os = "linux")]
        libc::CLOCK_MONOTONIC_RAW => Some(clocksmith::monotonic_raw_ordered_ns()),
        #[cfg(target_os = "linux")]
        libc::CLOCK_TAI => Some(clocksmith::tai_ordered_ns()),
        _ => None,
    };
    if let Some(ns) = ours {
        // A time of this library is below 2^63 until the year 2262.
        return Some(ns as i64);
    }
    // SAFETY: a time of this function; zero bytes are one. The exception's class stays.
    unsafe {
        let mut time: libc::timespec = core::mem::zeroed();
        if libc::clock_gettime(id, &raw mut time) != 0 {
            PyErr_SetFromErrno(PyExc_OSError);
            return None;
        }
        #[allow(clippy::unnecessary_cast)]
        Some((time.tv_sec as i64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as i64))
    }
}

/// # Safety
///
/// The thread may make objects.
unsafe fn seconds(ns: i64) -> *mut PyObject {
    // SAFETY: by the contract.
    unsafe { PyFloat_FromDouble(ns as f64 / 1e9) }
}

/// # Safety
///
/// The thread may make objects.
unsafe fn pair((first, second): (u64, u64)) -> *mut PyObject {
    // SAFETY: each object is used once: the tuple owns the numbers, even if one of them is null (no
    // memory), and is discarded then.
    unsafe {
        let (first, second) =
            (PyLong_FromUnsignedLongLong(first), PyLong_FromUnsignedLongLong(second));
        let made =
            if first.is_null() || second.is_null() { ptr::null_mut() } else { PyTuple_New(2) };
        if made.is_null() {
            Py_XDECREF(first);
            Py_XDECREF(second);
            return made;
        }
        PyTuple_SetItem(made, 0, first);
        PyTuple_SetItem(made, 1, second);
        made
    }
}

/// # Safety
///
/// The thread may make objects.
unsafe fn verdict(test: clocksmith::Slowness) -> *mut PyObject {
    // SAFETY: each object is used once: the tuple owns both, even if one of them is null (no memory), and is discarded
    // then. True, False and None are borrowed, and a new reference is added.
    unsafe {
        let slow = match test.slow {
            Some(true) => Py_True(),
            Some(false) => Py_False(),
            None => Py_None(),
        };
        let reason = text(&test.to_string());
        let made = if reason.is_null() { ptr::null_mut() } else { PyTuple_New(2) };
        if made.is_null() {
            Py_XDECREF(reason);
            return made;
        }
        Py_INCREF(slow);
        PyTuple_SetItem(made, 0, slow);
        PyTuple_SetItem(made, 1, reason);
        made
    }
}

/// # Safety
///
/// The thread may make objects.
unsafe fn number_or_none(number: Option<u64>) -> *mut PyObject {
    // SAFETY: None is borrowed, and a new reference is added.
    unsafe {
        number.map_or_else(
            || {
                Py_INCREF(Py_None());
                Py_None()
            },
            |number| PyLong_FromUnsignedLongLong(number),
        )
    }
}

/// # Safety
///
/// The thread may make objects.
unsafe fn vmclock(opened: Result<VmClock, Unavailable>) -> *mut PyObject {
    let state = opened.map(|clock| (clock, clock.state()));
    let reason = match &state {
        Ok((_, Some(_))) => String::new(),
        Ok((_, None)) => "the hypervisor is writing the page".to_owned(),
        Err(why) => why.to_string(),
    };
    // SAFETY: each object is used once: the tuple owns both, even if one of them is null (no memory), and is discarded then.
    unsafe {
        let said = match state {
            Ok((clock, Some(state))) => vmclock_fields(clock, state),
            _ => number_or_none(None),
        };
        let reason = text(&reason);
        let made =
            if said.is_null() || reason.is_null() { ptr::null_mut() } else { PyTuple_New(2) };
        if made.is_null() {
            Py_XDECREF(said);
            Py_XDECREF(reason);
            return made;
        }
        PyTuple_SetItem(made, 0, said);
        PyTuple_SetItem(made, 1, reason);
        made
    }
}

/// # Safety
///
/// The thread may make objects.
unsafe fn vmclock_fields(clock: VmClock, state: State) -> *mut PyObject {
    // SAFETY: the dictionary adds references to the values, and this function's references are released here; a null
    // pointer (no memory) is not used, and discards the dictionary.
    unsafe {
        let bounds =
            clock.utc_bounded().map_or_else(|| number_or_none(None), |bounds| pair(bounds));
        let offset = state
            .tai_offset_seconds
            .map_or_else(|| number_or_none(None), |seconds| PyLong_FromLong(seconds.into()));
        let maintenance = match state.maintenance {
            Some(Maintenance::Soon) => text("soon"),
            Some(Maintenance::Imminent) => text("imminent"),
            _ => number_or_none(None),
        };
        let fields = [
            (c"disruption_marker", number_or_none(Some(state.disruption_marker))),
            (c"vm_generation", number_or_none(state.vm_generation)),
            (c"status", text(state.status.name())),
            (c"leap", text(state.leap.name())),
            (c"tai_offset_seconds", offset),
            (c"maintenance", maintenance),
            (c"is_monotonic", PyBool_FromLong(state.is_monotonic.into())),
            (c"esterror_ns", number_or_none(state.esterror_ns)),
            (c"maxerror_ns", number_or_none(state.maxerror_ns)),
            (c"utc_bounded_ns", bounds),
        ];
        let mut made = PyDict_New();
        for (name, value) in fields {
            let bad = value.is_null()
                || !made.is_null() && PyDict_SetItemString(made, name.as_ptr(), value) != 0;
            if bad {
                Py_XDECREF(made);
                made = ptr::null_mut();
            }
            Py_XDECREF(value);
        }
        made
    }
}

/// # Safety
///
/// The thread may make objects.
unsafe fn text(text: &str) -> *mut PyObject {
    // SAFETY: the bytes are UTF-8, and their length is given. No text of this module is near isize::MAX.
    unsafe { PyUnicode_FromStringAndSize(text.as_ptr().cast(), text.len() as Py_ssize_t) }
}

const fn method(name: &'static CStr, call: Function, doc: &'static CStr) -> PyMethodDef {
    const FLAGS: c_int = METH_NOARGS;
    PyMethodDef {
        ml_name: name.as_ptr(),
        ml_meth: PyMethodDefPointer { PyCFunction: call },
        ml_flags: FLAGS,
        ml_doc: doc.as_ptr(),
    }
}

/// The text, which the macros have ended by a zero. Evaluated when this is compiled.
const fn zero_ended(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => c"",
    }
}
