//! Properties of the machine in the lines of a boot. A kernel prints its machine once, and a guest has the clock of
//! one hypervisor: another value belongs to another machine.

use crate::hypervisor::HypervisorKind;
use crate::log::event::Event;
use crate::log::parse::VIRTUALIZED;
use memchr::memmem::Finder;

/// The beginning of the message that names the platform of the kernel.
const RUNS_ON: &[u8] = b"Booting paravirtualized kernel on ";

/// A clocksource that only the guests of one hypervisor have.
struct GuestClock {
    /// Its name, or the beginning of its names.
    name: &'static str,
    /// Whether the name is the beginning of several names.
    begins: bool,
    /// The strings with its name that are searched for in an unparsed line; a line without them does not name the
    /// clocksource.
    words: &'static [&'static [u8]],
    of: HypervisorKind,
}

const GUEST_CLOCKS: [GuestClock; 3] = [
    GuestClock {
        name: "kvm-clock",
        begins: false,
        words: &[b"kvm-clock"],
        of: HypervisorKind::Kvm,
    },
    GuestClock {
        name: "xen",
        begins: false,
        words: &[b"clocksource xen", b"clocksource: xen:"],
        of: HypervisorKind::Xen,
    },
    GuestClock {
        name: "hyperv_clocksource",
        begins: true,
        words: &[b"hyperv_clocksource"],
        of: HypervisorKind::Hyperv,
    },
];

/// A property of the machine in a line.
pub(super) enum Sign<N> {
    /// The platform of the kernel, in its words.
    RunsOn(N),
    /// The only hypervisor whose guests have the clocksource.
    GuestOf(HypervisorKind),
}

impl<'a> Sign<&'a str> {
    pub(super) fn of(event: &'a Event) -> Option<Self> {
        match event {
            Event::Registered { name, .. } | Event::Switched(name) => {
                let is_named = |clock: &&GuestClock| match clock.begins {
                    true => name.starts_with(clock.name),
                    false => name == clock.name,
                };
                GUEST_CLOCKS.iter().find(is_named).map(|clock| Self::GuestOf(clock.of))
            }
            Event::Paravirt(name) if name != VIRTUALIZED => Some(Self::RunsOn(name)),
            _ => None,
        }
    }
}

/// The same search in unparsed messages. It finds more: names in other places, and words that a parser
/// ignores.
pub(super) struct Signs(Vec<(Finder<'static>, HypervisorKind)>);

impl Signs {
    pub(super) fn new() -> Self {
        let words = |clock: &GuestClock| {
            let of = clock.of;
            clock.words.iter().map(move |word| (Finder::new(*word), of))
        };
        Self(GUEST_CLOCKS.iter().flat_map(words).collect())
    }

    pub(super) fn of<'a>(&self, message: &'a [u8]) -> impl Iterator<Item = Sign<&'a [u8]>> {
        let runs_on = message.strip_prefix(RUNS_ON).map(|name| Sign::RunsOn(name.trim_ascii()));
        let clocks = self.0.iter().filter(|(word, _)| word.find(message).is_some());
        runs_on.into_iter().chain(clocks.map(|(_, of)| Sign::GuestOf(*of)))
    }
}

/// The known properties of the machine of a boot.
#[derive(Clone, Copy, Default)]
pub(super) struct Machine<N> {
    runs_on: Option<N>,
    guest_of: Option<HypervisorKind>,
}

impl Machine<String> {
    pub(super) fn as_bytes(&self) -> Machine<&[u8]> {
        Machine { runs_on: self.runs_on.as_deref().map(str::as_bytes), guest_of: self.guest_of }
    }
}

impl<N> Machine<N> {
    /// Whether a property belongs to another machine.
    pub(super) fn is_other<M>(&self, sign: &Sign<M>) -> bool
    where
        N: PartialEq<M>,
    {
        match sign {
            Sign::RunsOn(name) => self.runs_on.as_ref().is_some_and(|former| former != name),
            Sign::GuestOf(of) => self.guest_of.is_some_and(|former| former != *of),
        }
    }

    pub(super) fn note<M: Into<N>>(&mut self, sign: Sign<M>) {
        match sign {
            Sign::RunsOn(name) => self.runs_on = Some(name.into()),
            Sign::GuestOf(of) => self.guest_of = Some(of),
        }
    }
}
