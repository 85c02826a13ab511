//! The effect of VirtualBox's TSC keys: keys, vCPUs, version and engine in, mode and reason out.
//!
//! Sources: `TMR3Init()` and `tmR3HasFixedTSC()` in `src/VBox/VMM/VMMR3/TM.cpp`, and
//! `TMCpuTickCanUseRealTSC()` in `VMMAll/TMAllCpu.cpp`, of 4.x, 5.0 and 6.1 to 7.x.

use crate::words::listed;

/// The series of VirtualBox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// 4.x: three keys that together determine the mode.
    Four,
    /// 5.0 and later: `TSCMode`; the three keys are refused.
    Five,
}

/// The engine that runs the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    /// VirtualBox's own use of VT-x or AMD-V.
    Own,
    /// The host's hypervisor (NEM): Hyper-V under Windows.
    Nem,
}

/// A value of `TSCMode`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ModeKey {
    Emulated,
    Offset,
    Dynamic,
    /// None of them; the comparison is case-sensitive.
    Wrong(String),
}

impl ModeKey {
    pub(crate) fn parse(text: &str) -> Self {
        match text {
            "VirtTSCEmulated" => Self::Emulated,
            "RealTSCOffset" => Self::Offset,
            "Dynamic" => Self::Dynamic,
            other => Self::Wrong(other.to_owned()),
        }
    }
}

/// The keys below `VBoxInternal/TM/`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Keys {
    pub(crate) virtualized: Option<bool>,
    pub(crate) real: Option<bool>,
    pub(crate) maybe_offset: Option<bool>,
    /// `Err` for a value that is not a number.
    pub(crate) ticks: Option<Result<u64, ()>>,
    pub(crate) tied: Option<bool>,
    pub(crate) mode: Option<ModeKey>,
    pub(crate) switch: Option<bool>,
    pub(crate) warp: Option<u32>,
}

/// How the guest reads its TSC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Every read traps.
    Emulated,
    /// The real counter plus an offset; no read traps.
    Offset,
    /// The real counter plus an offset while the virtual clock is in step, otherwise trapped.
    Dynamic,
    /// As the host's hypervisor implements it, which is without a trap.
    NativeApi,
}

/// The reason why the machine does not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// A key of 4.x under 5.0 or later.
    OldKey,
    /// `TSCTicksPerSecond` is not a number from 1 MHz to 4 GHz - 1.
    Ticks,
    /// `TSCMode` has no such value.
    Mode,
    /// `TSCTiedToExecution` with the host's hypervisor.
    TiedNem,
    /// `WarpDrivePercentage` is not in 2..=20000.
    Warp,
}

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Virtualized,
    Real,
    MaybeOffset,
    Ticks,
    Tied,
    Mode,
    Switch,
    Warp,
}

impl Key {
    /// Every key, with its name.
    const NAMES: [(Self, &str); 8] = [
        (Self::Virtualized, "TSCVirtualized"),
        (Self::Real, "UseRealTSC"),
        (Self::MaybeOffset, "MaybeUseOffsettedHostTSC"),
        (Self::Ticks, "TSCTicksPerSecond"),
        (Self::Tied, "TSCTiedToExecution"),
        (Self::Mode, "TSCMode"),
        (Self::Switch, "TSCModeSwitchAllowed"),
        (Self::Warp, "WarpDrivePercentage"),
    ];

    /// Returns the key whose name matches.
    pub(crate) fn find(fits: impl Fn(&str) -> bool) -> Option<Self> {
        Self::NAMES.iter().find(|(_, name)| fits(name)).map(|(key, _)| *key)
    }

    pub(crate) fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(key, _)| *key == self).map_or("", |(_, name)| name)
    }

    /// Whether the key is one of 4.x that later versions refuse.
    pub(crate) const fn is_old(self) -> bool {
        matches!(self, Self::Virtualized | Self::Real | Self::MaybeOffset)
    }
}

/// The effect of the keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Effective {
    /// The mode at the start, or the reason why the machine does not start.
    pub(crate) mode: Result<Mode, Refusal>,
    /// The reason for the mode.
    pub(crate) why: &'static str,
    /// Keys without effect, each with the key that overrides it (`None`: the engine, or the version, which does not
    /// know it).
    pub(crate) overridden: Vec<(Key, Option<Key>)>,
}

const TICKS: std::ops::Range<u64> = 1_000_000..4_294_967_296;
const WARP: std::ops::RangeInclusive<u32> = 2..=20_000;

/// Returns the effect of the keys. `fixed` is whether the host's TSC has one rate, as on x86 CPUs made since about
/// 2010.
pub(crate) fn effective(
    keys: &Keys,
    vcpus: u32,
    era: Era,
    engine: Engine,
    fixed: bool,
) -> Effective {
    if keys.warp.is_some_and(|warp| !WARP.contains(&warp)) {
        return refuse(Refusal::Warp, "WarpDrivePercentage is not in 2..20000");
    }
    if keys.ticks.is_some_and(|ticks| !ticks.is_ok_and(|ticks| TICKS.contains(&ticks))) {
        return refuse(Refusal::Ticks, "TSCTicksPerSecond is not in 1 MHz..4 GHz-1");
    }
    match era {
        Era::Four => four(keys, vcpus, fixed),
        Era::Five => five(keys, vcpus, engine, fixed),
    }
}

fn refuse(refusal: Refusal, why: &'static str) -> Effective {
    Effective { mode: Err(refusal), why, overridden: Vec::new() }
}

fn four(keys: &Keys, vcpus: u32, fixed: bool) -> Effective {
    let mut overridden = Vec::new();
    for (key, given) in [(Key::Mode, keys.mode.is_some()), (Key::Switch, keys.switch.is_some())] {
        if given {
            overridden.push((key, None));
        }
    }
    let old = [
        (Key::Virtualized, keys.virtualized.is_some()),
        (Key::Real, keys.real.is_some()),
        (Key::MaybeOffset, keys.maybe_offset.is_some()),
    ];
    let winner = if keys.tied == Some(true) {
        Some((Key::Tied, "TSCTiedToExecution overrides the other TSC keys: every read traps"))
    } else if keys.ticks.is_some() {
        Some((Key::Ticks, "TSCTicksPerSecond overrides the other TSC keys: every read traps"))
    } else {
        None
    };
    if let Some((by, why)) = winner {
        overridden.extend(old.iter().filter(|(_, given)| *given).map(|(key, _)| (*key, Some(by))));
        return Effective { mode: Ok(Mode::Emulated), why, overridden };
    }
    let real = keys.real.unwrap_or(false);
    if !real && keys.virtualized == Some(false) {
        // Without the real TSC as a source, the TSC is virtualised whatever the value of the key is.
        overridden.push((Key::Virtualized, Some(Key::Real)));
    }
    let warp = keys.warp.is_some_and(|warp| warp != 100);
    let (mode, why) = match keys.maybe_offset {
        Some(false) => (Mode::Emulated, "MaybeUseOffsettedHostTSC is off: every read traps"),
        // Only the default is forced off with several vCPUs; an explicit value applies.
        None if vcpus != 1 => (
            Mode::Emulated,
            "MaybeUseOffsettedHostTSC is forced off with more than one vCPU: every read traps",
        ),
        None if !real && !fixed => {
            (Mode::Emulated, "the host's TSC has no fixed rate: every read traps")
        }
        _ if real => (Mode::Offset, "UseRealTSC with an offset: no read traps"),
        _ if warp => (Mode::Emulated, "the warp drive is on: every read traps"),
        _ => (Mode::Dynamic, "the host's TSC with an offset while the virtual clock is in step"),
    };
    Effective { mode: Ok(mode), why, overridden }
}

fn five(keys: &Keys, vcpus: u32, engine: Engine, fixed: bool) -> Effective {
    if keys.virtualized.is_some() || keys.real.is_some() || keys.maybe_offset.is_some() {
        return refuse(
            Refusal::OldKey,
            "TSCVirtualized, UseRealTSC and MaybeUseOffsettedHostTSC are no longer supported",
        );
    }
    if matches!(keys.mode, Some(ModeKey::Wrong(_))) {
        return refuse(Refusal::Mode, "TSCMode is VirtTSCEmulated, RealTSCOffset or Dynamic");
    }
    let tied = keys.tied == Some(true);
    let warp = keys.warp.is_some_and(|warp| warp != 100);
    let mut overridden = Vec::new();
    if engine == Engine::Nem {
        if tied {
            return refuse(Refusal::TiedNem, "TSCTiedToExecution is not supported in NEM mode");
        }
        for (key, given) in [
            (Key::Mode, keys.mode.is_some()),
            (Key::Switch, keys.switch == Some(true)),
            (Key::Ticks, keys.ticks.is_some()),
        ] {
            if given {
                overridden.push((key, None));
            }
        }
        let why = "the host's hypervisor serves the TSC (NEM), whatever the keys say";
        return Effective { mode: Ok(Mode::NativeApi), why, overridden };
    }
    let forced = [
        (warp, Key::Warp, "the warp drive is on: every read traps"),
        (tied, Key::Tied, "TSCTiedToExecution: every read traps"),
        (keys.ticks.is_some(), Key::Ticks, "TSCTicksPerSecond is given: every read traps"),
    ];
    if let Some((_, by, why)) = forced.iter().find(|(on, ..)| *on) {
        if matches!(keys.mode, Some(ModeKey::Offset | ModeKey::Dynamic)) {
            overridden.push((Key::Mode, Some(*by)));
        }
        return Effective { mode: Ok(Mode::Emulated), why, overridden };
    }
    let (mode, why) = match keys.mode {
        Some(ModeKey::Offset) => (Mode::Offset, "TSCMode is RealTSCOffset: no read traps"),
        Some(ModeKey::Dynamic) => (Mode::Dynamic, "TSCMode is Dynamic"),
        Some(_) => (Mode::Emulated, "TSCMode is VirtTSCEmulated: every read traps"),
        None if vcpus == 1 && fixed => (Mode::Dynamic, "the default with one vCPU is Dynamic"),
        None if vcpus == 1 => {
            (Mode::Emulated, "the host's TSC has no fixed rate: every read traps")
        }
        None => (
            Mode::Emulated,
            "the default with more than one vCPU is VirtTSCEmulated: every read traps",
        ),
    };
    Effective { mode: Ok(mode), why, overridden }
}

/// Whether VirtualBox 5.0 or later knows the key below `VBoxInternal/TM/`; it refuses to start with
/// another one (`CFGMR3ValidateConfig()` in `TMR3Init()`).
pub(crate) fn known(key: &str) -> bool {
    const MORE: &str = "TSCNotTiedToHalt ScheduleSlack CatchUpStopThreshold CatchUpGiveUpThreshold UTCOffset \
        UTCTouchFileOnJump HostHzMax HostHzFudgeFactorTimerCpu HostHzFudgeFactorOtherCpu \
        HostHzFudgeFactorCatchUp100 HostHzFudgeFactorCatchUp200 HostHzFudgeFactorCatchUp400 \
        TimerMillies";
    let period = |prefix: &str| {
        key.strip_prefix(prefix)
            .is_some_and(|rest| rest.len() == 1 && rest.bytes().all(|b| b.is_ascii_digit()))
    };
    Key::find(|known| known == key).is_some()
        || listed(MORE, key)
        || period("CatchUpStartThreshold")
        || period("CatchUpPrecentage")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mode(keys: &Keys, vcpus: u32, era: Era) -> Result<Mode, Refusal> {
        effective(keys, vcpus, era, Engine::Own, true).mode
    }

    #[test]
    fn defaults_depend_on_the_vcpus() {
        for era in [Era::Four, Era::Five] {
            assert_eq!(mode(&Keys::default(), 1, era), Ok(Mode::Dynamic));
            assert_eq!(mode(&Keys::default(), 2, era), Ok(Mode::Emulated));
            let unfixed = effective(&Keys::default(), 1, era, Engine::Own, false);
            assert_eq!(unfixed.mode, Ok(Mode::Emulated));
        }
    }

    #[test]
    fn four_the_three_keys_are_one_mode() {
        let keys = |virtualized, real, maybe_offset| Keys {
            virtualized,
            real,
            maybe_offset,
            ..Keys::default()
        };
        // Several vCPUs force the default of the third key off, so the first two are not enough ...
        let two = keys(Some(false), Some(true), None);
        assert_eq!(mode(&two, 8, Era::Four), Ok(Mode::Emulated));
        assert_eq!(mode(&two, 1, Era::Four), Ok(Mode::Offset));
        // ... but an explicit value applies.
        let three = keys(Some(false), Some(true), Some(true));
        assert_eq!(mode(&three, 8, Era::Four), Ok(Mode::Offset));
        assert_eq!(mode(&keys(None, None, Some(true)), 8, Era::Four), Ok(Mode::Dynamic));
        assert_eq!(mode(&keys(None, Some(true), Some(false)), 1, Era::Four), Ok(Mode::Emulated));
        // Without the real TSC, TSCVirtualized is true whatever its value is.
        let alone = effective(&keys(Some(false), None, None), 1, Era::Four, Engine::Own, true);
        assert_eq!(alone.overridden, [(Key::Virtualized, Some(Key::Real))]);
        assert_eq!(alone.mode, Ok(Mode::Dynamic));
    }

    #[test]
    fn five_refuses_the_three_keys() {
        for keys in [
            Keys { virtualized: Some(true), ..Keys::default() },
            Keys { real: Some(false), ..Keys::default() },
            Keys { maybe_offset: Some(true), ..Keys::default() },
        ] {
            assert_eq!(mode(&keys, 1, Era::Five), Err(Refusal::OldKey));
            assert!(mode(&keys, 1, Era::Four).is_ok());
        }
    }

    #[test]
    fn ticks_have_a_range_and_force_emulation() {
        let ticks = |ticks| Keys { ticks: Some(ticks), ..Keys::default() };
        for era in [Era::Four, Era::Five] {
            assert_eq!(mode(&ticks(Ok(999_999)), 1, era), Err(Refusal::Ticks));
            assert_eq!(mode(&ticks(Ok(1_000_000)), 1, era), Ok(Mode::Emulated));
            assert_eq!(mode(&ticks(Ok(4_294_967_295)), 1, era), Ok(Mode::Emulated));
            assert_eq!(mode(&ticks(Ok(4_294_967_296)), 1, era), Err(Refusal::Ticks));
            assert_eq!(mode(&ticks(Err(())), 1, era), Err(Refusal::Ticks));
        }
        let keys = Keys { mode: Some(ModeKey::Offset), ..ticks(Ok(2_000_000_000)) };
        let out = effective(&keys, 1, Era::Five, Engine::Own, true);
        assert_eq!(out.mode, Ok(Mode::Emulated));
        assert_eq!(out.overridden, [(Key::Mode, Some(Key::Ticks))]);
        let keys = Keys { real: Some(true), maybe_offset: Some(true), ..ticks(Ok(2_000_000_000)) };
        let out = effective(&keys, 1, Era::Four, Engine::Own, true);
        assert_eq!(out.mode, Ok(Mode::Emulated));
        let by = Some(Key::Ticks);
        assert_eq!(out.overridden, [(Key::Real, by), (Key::MaybeOffset, by)]);
    }

    #[test]
    fn tied_overrides_the_others() {
        let tied = Keys { tied: Some(true), mode: Some(ModeKey::Offset), ..Keys::default() };
        let out = effective(&tied, 1, Era::Five, Engine::Own, true);
        assert_eq!(out.mode, Ok(Mode::Emulated));
        assert_eq!(out.overridden, [(Key::Mode, Some(Key::Tied))]);
        let old = Keys { tied: Some(true), real: Some(true), ..Keys::default() };
        let out = effective(&old, 1, Era::Four, Engine::Own, true);
        assert_eq!(
            (out.mode, out.overridden),
            (Ok(Mode::Emulated), vec![(Key::Real, Some(Key::Tied))])
        );
        let nem = effective(&tied, 1, Era::Five, Engine::Nem, true);
        assert_eq!(nem.mode, Err(Refusal::TiedNem));
        let off = Keys { tied: Some(false), ..Keys::default() };
        assert_eq!(mode(&off, 1, Era::Five), Ok(Mode::Dynamic));
    }

    #[test]
    fn the_mode_key() {
        let key = |text| Keys { mode: Some(ModeKey::parse(text)), ..Keys::default() };
        assert_eq!(mode(&key("RealTSCOffset"), 8, Era::Five), Ok(Mode::Offset));
        assert_eq!(mode(&key("Dynamic"), 8, Era::Five), Ok(Mode::Dynamic));
        assert_eq!(mode(&key("VirtTSCEmulated"), 1, Era::Five), Ok(Mode::Emulated));
        assert_eq!(mode(&key("realtscoffset"), 1, Era::Five), Err(Refusal::Mode));
        let four = effective(&key("RealTSCOffset"), 8, Era::Four, Engine::Own, true);
        assert_eq!((four.mode, four.overridden), (Ok(Mode::Emulated), vec![(Key::Mode, None)]));
        let nem = effective(&key("VirtTSCEmulated"), 8, Era::Five, Engine::Nem, true);
        assert_eq!((nem.mode, nem.overridden), (Ok(Mode::NativeApi), vec![(Key::Mode, None)]));
    }

    #[test]
    fn the_warp_drive() {
        let warp = |warp, mode| Keys { warp: Some(warp), mode, ..Keys::default() };
        assert_eq!(mode(&warp(200, Some(ModeKey::Offset)), 1, Era::Five), Ok(Mode::Emulated));
        assert_eq!(mode(&warp(100, Some(ModeKey::Offset)), 1, Era::Five), Ok(Mode::Offset));
        assert_eq!(mode(&warp(1, None), 1, Era::Five), Err(Refusal::Warp));
        assert_eq!(mode(&warp(20_001, None), 1, Era::Four), Err(Refusal::Warp));
        assert_eq!(mode(&warp(50, None), 1, Era::Four), Ok(Mode::Emulated));
    }

    #[test]
    fn keys_below_tm() {
        for key in ["TSCMode", "CatchUpPrecentage0", "WarpDrivePercentage", "HostHzMax"] {
            assert!(known(key), "{key}");
        }
        for key in ["TSCmode", "Mode", "CatchUpPercentage0", "CatchUpPrecentage10", ""] {
            assert!(!known(key), "{key}");
        }
    }

    proptest! {
        #[test]
        fn more_than_one_vcpu_is_never_faster(
            real in proptest::option::of(any::<bool>()),
            maybe_offset in proptest::option::of(any::<bool>()),
            ticks in proptest::option::of(0u64..5_000_000_000),
            tied in proptest::option::of(any::<bool>()),
            warp in proptest::option::of(0u32..300),
            four in any::<bool>(),
        ) {
            let keys = Keys { real, maybe_offset, ticks: ticks.map(Ok), tied, warp, ..Keys::default() };
            let era = if four { Era::Four } else { Era::Five };
            let one = effective(&keys, 1, era, Engine::Own, true).mode;
            let two = effective(&keys, 2, era, Engine::Own, true).mode;
            prop_assert_eq!(one.is_err(), two.is_err());
            if one == Ok(Mode::Emulated) {
                prop_assert_eq!(two, Ok(Mode::Emulated));
            }
        }
    }
}
