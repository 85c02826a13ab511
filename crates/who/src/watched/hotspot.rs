//! Properties of a Java virtual machine from its own memory: whether it is HotSpot, its version, whether it takes
//! requests, and where its compiled code is.
//!
//! A command line does not show this: options also come from `JAVA_TOOL_OPTIONS`, `JDK_JAVA_OPTIONS`, files of
//! arguments and `.hotspotrc`, and OpenJ9 has a `libjvm.so` too. HotSpot exports tables for debuggers
//! (`gHotSpotVMStructs`, `src/hotspot/share/runtime/vmStructs.cpp`, in every version since 2003), by which its flags
//! in force are found. OpenJ9 has no such table.

use super::bounded::Bounded;
use super::process::Process;
use super::runtime;
use object::{Object, ObjectSymbol};
use std::collections::HashMap;
use std::ops::Range;

/// Entries of a table at most; JDK 17 has 1400.
const ENTRIES: u64 = 20_000;
/// Flags at most; JDK 17 has 1200.
const FLAGS: u64 = 10_000;
/// The first version that has `Compiler.perfmap`.
const FIRST: u64 = 17;

/// The properties that are needed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Machine {
    version: u64,
    no_attach: bool,
    no_signals: bool,
    /// The range of its compiled code; empty if it does not define one.
    code: Range<u64>,
}

/// Returns the range of the JVM's compiled code, if the JVM was configured to take requests.
///
/// # Errors
/// Returns the reason if it is not known whether the JVM takes them.
pub(super) fn takes_requests(process: &Process) -> Result<Range<u64>, String> {
    if process.maps.iter().any(|mapping| mapping.base_name().starts_with("libj9")) {
        return Err("it is OpenJ9, which writes a dump when it is signalled".to_owned());
    }
    if !process.can_read() {
        return Err("its options are not known, since its memory may not be read".to_owned());
    }
    let machine = read(process).ok_or("it is not certain that it is HotSpot")?;
    machine.judge()
}

impl Machine {
    fn judge(self) -> Result<Range<u64>, String> {
        if self.version < FIRST {
            Err(format!("it is JDK {}", self.version))
        } else if self.no_attach {
            Err("it was started with -XX:+DisableAttachMechanism".to_owned())
        } else if self.no_signals {
            Err("it was started with -Xrs".to_owned())
        } else {
            Ok(self.code)
        }
    }
}

fn read(process: &Process) -> Option<Machine> {
    let symbols = exported(process)?;
    // Each symbol is a variable that holds an address, an offset or a size.
    let value = |name: &str| process.word(*symbols.get(name)?);
    let structs = value("gHotSpotVMStructs")?;
    let stride = value("gHotSpotVMStructEntryArrayStride").filter(|stride| *stride >= 8)?;
    let type_name = value("gHotSpotVMStructEntryTypeNameOffset")?;
    let field_name = value("gHotSpotVMStructEntryFieldNameOffset")?;
    let offset = value("gHotSpotVMStructEntryOffsetOffset")?;
    let address = value("gHotSpotVMStructEntryAddressOffset")?;
    let mut fields: HashMap<(String, String), (u64, u64)> = HashMap::new();
    for index in 0..ENTRIES {
        let entry = structs.checked_add(index.checked_mul(stride)?)?;
        let at = process.word(entry.checked_add(type_name)?)?;
        if at == 0 {
            break;
        }
        let kind = string(process, at)?;
        if ["JVMFlag", "Abstract_VM_Version", "CodeCache"].contains(&kind.as_str()) {
            let field = string(process, process.word(entry.checked_add(field_name)?)?)?;
            let offset = process.word(entry.checked_add(offset)?)?;
            let address = process.word(entry.checked_add(address)?)?;
            fields.insert((kind, field), (offset, address));
        }
    }
    let field = |kind: &str, name: &str| fields.get(&(kind.to_owned(), name.to_owned())).copied();
    let (_, version) = field("Abstract_VM_Version", "_vm_major_version")?;
    let version = process.word(version)? & 0xffff_ffff;
    let (_, flags) = field("JVMFlag", "flags")?;
    let (_, many) = field("JVMFlag", "numFlags")?;
    let (name, _) = field("JVMFlag", "_name")?;
    let (value_at, _) = field("JVMFlag", "_addr")?;
    let size = type_size(process, &symbols, "JVMFlag")?;
    let (flags, many) = (process.word(flags)?, process.word(many)?.min(FLAGS));
    let (mut no_attach, mut no_signals) = (None, None);
    for index in 0..many {
        let flag = flags.checked_add(index.checked_mul(size)?)?;
        let at = process.word(flag.checked_add(name)?)?;
        if at == 0 {
            break;
        }
        let found = match string(process, at)?.as_str() {
            "DisableAttachMechanism" => &mut no_attach,
            "ReduceSignalUsage" => &mut no_signals,
            _ => continue,
        };
        let place = process.word(flag.checked_add(value_at)?)?;
        *found = Some(process.read(place, 1)?.first().copied()? != 0);
    }
    let bound =
        |name: &str| field("CodeCache", name).and_then(|(_, address)| process.word(address));
    let code = bound("_low_bound").unwrap_or(0)..bound("_high_bound").unwrap_or(0);
    Some(Machine { version, no_attach: no_attach?, no_signals: no_signals?, code })
}

/// The size of a type by HotSpot's table of types.
fn type_size(process: &Process, symbols: &HashMap<String, u64>, wanted: &str) -> Option<u64> {
    let value = |name: &str| process.word(*symbols.get(name)?);
    let types = value("gHotSpotVMTypes")?;
    let stride = value("gHotSpotVMTypeEntryArrayStride").filter(|stride| *stride >= 8)?;
    let name = value("gHotSpotVMTypeEntryTypeNameOffset")?;
    let size = value("gHotSpotVMTypeEntrySizeOffset")?;
    for index in 0..ENTRIES {
        let entry = types.checked_add(index.checked_mul(stride)?)?;
        let at = process.word(entry.checked_add(name)?)?;
        if at == 0 {
            return None;
        }
        if string(process, at)? == wanted {
            return process.word(entry.checked_add(size)?).filter(|size| (8..4096).contains(size));
        }
    }
    None
}

/// The addresses of HotSpot's tables in the process.
fn exported(process: &Process) -> Option<HashMap<String, u64>> {
    let (file, bias) = process.images(runtime::is_jvm).next()?;
    let bounded = Bounded::new(file.file.try_clone().ok()?)?;
    let elf = object::File::parse(&bounded).ok()?;
    let symbols = elf.dynamic_symbols().filter(object::ObjectSymbol::is_definition);
    let found: HashMap<String, u64> = symbols
        .filter_map(|symbol| {
            let name = symbol.name().ok().filter(|name| name.starts_with("gHotSpotVM"))?;
            Some((name.to_owned(), symbol.address().wrapping_add(bias)))
        })
        .collect();
    (!found.is_empty()).then_some(found)
}

/// A short string; longer ones are cut.
fn string(process: &Process, at: u64) -> Option<String> {
    const LONGEST: usize = 64;
    // Near the end of a mapping there is less.
    let bytes = [LONGEST, 32, 8].into_iter().find_map(|length| process.read(at, length))?;
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    Some(String::from_utf8_lossy(bytes.get(..end)?).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn judge_jvm_without_requests_gives_reason() {
        let good = Machine { version: 17, no_attach: false, no_signals: false, code: 1..2 };
        assert_eq!(good.clone().judge(), Ok(1..2));
        for (machine, what) in [
            (Machine { version: 11, ..good.clone() }, "JDK 11"),
            (Machine { no_attach: true, ..good.clone() }, "DisableAttachMechanism"),
            (Machine { no_signals: true, ..good }, "-Xrs"),
        ] {
            assert!(machine.judge().unwrap_err().contains(what));
        }
    }
}
