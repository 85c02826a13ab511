//! The boot loaders of this machine, and the one that boots it.
//!
//! An edit of a loader that does not boot has no effect, but would be reported as done. So if there is more than one
//! loader, the evidence decides: EFI variables ([`crate::system::Efi`]), the running kernel's command line, and the
//! loader whose words it has. If the evidence does not decide, the user names the loader (`--loader`).
//!
//! Sources: GRUB's `grub-core/loader/i386/linux.c` (it puts `BOOT_IMAGE=` first on every command line); the syslinux
//! wiki (so does it, and LILO); systemd's `boot.c` (`initrd=\` for each initrd of an entry).

use super::tools::{self, Does};
use super::{NoWay, bls, extlinux, grub, menu, single};
use crate::system::System;
use crate::words;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A boot loader, by the kind of its configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Loader {
    /// GRUB with its generator, or with entries that it reads.
    Grub,
    /// Entries of the Boot Loader Specification, which systemd-boot reads.
    Entries,
    /// Unified kernel images.
    Unified,
    /// extlinux, or U-Boot that reads its format.
    Extlinux,
    /// zipl of s390.
    Zipl,
    /// A Raspberry Pi's firmware.
    CmdlineTxt,
    /// rEFInd.
    Refind,
    /// Limine.
    Limine,
    /// U-Boot with a script of its own, which takes words from a file.
    Script,
    /// Another boot loader, which is recognised only by its file.
    Other,
}

/// Command lines of rEFInd, next to the kernels.
const REFIND_LINES: &str = "/boot/refind_linux.conf";

impl Loader {
    /// The loaders by their names for `--loader`.
    pub const NAMED: [(&'static str, Self); 6] = [
        ("grub", Self::Grub),
        ("entries", Self::Entries),
        ("unified", Self::Unified),
        ("extlinux", Self::Extlinux),
        ("zipl", Self::Zipl),
        ("cmdline-txt", Self::CmdlineTxt),
    ];

    /// Returns the name for people.
    #[must_use]
    pub fn shown(self) -> &'static str {
        match self {
            Self::Grub => "GRUB",
            Self::Entries => "boot loader entries (systemd-boot)",
            Self::Unified => "unified kernel images",
            Self::Extlinux => "extlinux",
            Self::Zipl => "zipl",
            Self::CmdlineTxt => "the Raspberry Pi's firmware",
            Self::Refind => "rEFInd",
            Self::Limine => "Limine",
            Self::Script => "a U-Boot script",
            Self::Other => "another boot loader",
        }
    }
}

/// A boot loader that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Found {
    /// Which.
    pub loader: Loader,
    /// Its name for people.
    pub name: String,
    /// The file by which it was found.
    pub by: PathBuf,
}

/// Which one boots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Choice {
    /// All that were found.
    pub found: Vec<Found>,
    /// The one that boots this machine; null where the evidence does not decide.
    pub boots: Option<Loader>,
    /// Why that one, or why none.
    pub because: String,
}

impl Choice {
    /// Returns a sentence with all loaders that were found, and the one that boots.
    #[must_use]
    pub fn sentence(&self) -> String {
        let Some(boots) = self.boots else {
            return format!("boot loaders found: {}; {}", self.list(), self.because);
        };
        format!("boot loaders found: {}; {} boots: {}", self.list(), boots.shown(), self.because)
    }

    fn list(&self) -> String {
        let one = |found: &Found| format!("{} ({})", found.name, found.by.display());
        self.found.iter().map(one).collect::<Vec<_>>().join(", ")
    }
}

/// Finds the loaders of the system, and the one that boots.
#[must_use]
pub fn look(system: &System) -> Choice {
    let found = found(system);
    let says = evidence(system, &found);
    let known: Vec<Loader> = found.iter().map(|it| it.loader).collect();
    let fits = |loader: &Loader| says.iter().all(|(set, _)| set.contains(loader));
    let left: Vec<Loader> = known.iter().copied().filter(fits).collect();
    let why = || says.iter().map(|(_, why)| why.clone()).collect::<Vec<_>>().join("; ");
    let (boots, because) = match (&left[..], &known[..]) {
        (_, []) => (None, "none was found".to_owned()),
        ([one], [_]) if says.is_empty() => (Some(*one), "it is the only one found".to_owned()),
        ([one], _) => (Some(*one), why()),
        ([], _) => {
            let mount = "is a file system of the boot loader not mounted?";
            (None, format!("none of them is the one that booted this machine ({}): {mount}", why()))
        }
        _ if says.is_empty() => {
            (None, "nothing here shows which of them boots this machine".to_owned())
        }
        _ => (None, format!("which of them boots this machine is not certain ({})", why())),
    };
    Choice { found, boots, because }
}

/// Returns the loader to change.
///
/// # Errors
/// Returns an error if no loader is known, the evidence does not decide, or the named loader does not exist.
pub(super) fn choose(system: &System, named: Option<Loader>) -> Result<Choice, NoWay> {
    let mut choice = look(system);
    if choice.found.is_empty() {
        return Err(NoWay::Unknown(super::place(system)));
    }
    if let Some(named) = named {
        if !choice.found.iter().any(|it| it.loader == named) {
            return Err(NoWay::NotHere { named: named.shown(), found: choice.list() });
        }
        choice.boots = Some(named);
        choice.because = "it was named by --loader".to_owned();
    }
    if choice.boots.is_none() {
        let names =
            Loader::NAMED.iter().filter(|(_, it)| choice.found.iter().any(|f| f.loader == *it));
        let names: Vec<&str> = names.map(|(name, _)| *name).collect();
        return Err(NoWay::Several {
            found: choice.list(),
            because: choice.because,
            names: names.join("|"),
        });
    }
    Ok(choice)
}

/// The file of the entries that GRUB reads, where it does.
pub(super) fn grub_reads_entries(system: &System) -> bool {
    let config = grub::config(system).and_then(|path| system.text(path));
    config.is_some_and(bls::are_read_by)
}

fn found(system: &System) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    let mut add = |loader: Loader, name: &str, by: &Path| {
        if !found.iter().any(|it| it.loader == loader && loader != Loader::Other) {
            found.push(Found { loader, name: name.to_owned(), by: by.to_owned() });
        }
    };
    let there = |path: &str| system.files.contains_key(Path::new(path));
    let entries = bls::entries(system).or(bls::unreadable(system).map(|(directory, ..)| directory));
    let config = grub::config(system);
    // By grubby they are one, and so they are where grub.cfg reads the entries.
    let one = entries.is_some() && (grub_reads_entries(system) || system.has("grubby"));
    if grub::is_there(system) || config.is_some() && !one {
        add(Loader::Grub, Loader::Grub.shown(), Path::new(config.unwrap_or(grub::DEFAULTS)));
    }
    if let Some(directory) = entries
        && !(one && grub::is_there(system))
    {
        add(Loader::Entries, Loader::Entries.shown(), Path::new(directory));
    }
    if let Some(image) = system.unified.first() {
        add(Loader::Unified, Loader::Unified.shown(), image);
    }
    if let Some(by) = extlinux::FILES.into_iter().find(|path| there(path)) {
        add(Loader::Extlinux, Loader::Extlinux.shown(), Path::new(by));
    }
    // It copies entries into the boot record.
    if there(single::ZIPL) && entries.is_none() {
        add(Loader::Zipl, Loader::Zipl.shown(), Path::new(single::ZIPL));
    }
    if let Some(by) = single::CMDLINE_TXT.into_iter().find(|path| there(path)) {
        add(Loader::CmdlineTxt, Loader::CmdlineTxt.shown(), Path::new(by));
    }
    for tool in tools::TOOLS {
        // Excludes the remains of a previous version of GRUB, and the tool that copies kernels to
        // the place where a Raspberry Pi's firmware reads them.
        let other = match tool.name {
            "GRUB legacy" => config.is_some(),
            "flash-kernel" => single::CMDLINE_TXT.into_iter().any(there),
            _ => false,
        };
        if let Does::Boots(loader) = tool.does
            && !other
            && let Some(by) = tool.mark(system)
        {
            add(loader, tool.name, &by);
        }
    }
    found
}

/// The evidence for the loader that boots: the loaders that remain possible, and the observation.
fn evidence(system: &System, found: &[Found]) -> Vec<(Vec<Loader>, String)> {
    let mut says = Vec::new();
    if let Some(info) = &system.efi.loader
        && let Some(mut set) = by_info(info)
    {
        // The stub of an image describes only itself.
        if system.efi.stub.is_none() {
            let entries = found.iter().any(|it| it.loader == Loader::Entries);
            set.retain(|loader| *loader != Loader::Unified || !entries);
        }
        says.push((set, format!("the EFI variable LoaderInfo is {info:?}")));
    }
    if let Some(info) = &system.efi.stub {
        says.push((vec![Loader::Unified], format!("the EFI variable StubInfo is {info:?}")));
    }
    if let Some(file) = &system.efi.file
        && let Some(set) = by_file(file)
    {
        says.push((set, format!("the firmware started {file} (BootCurrent)")));
    }
    let Some(line) = system.cmdline() else { return says };
    // A single found loader is not excluded by a line that others may have made, such as kexec.
    if found.len() > 1 {
        let several = [Loader::Grub, Loader::Extlinux, Loader::Other];
        let image = words::all(line).into_iter().find(|word| word.starts_with("BOOT_IMAGE="));
        match image {
            Some(word) if word.starts_with("BOOT_IMAGE=(") => {
                says.push((vec![Loader::Grub], format!("the running command line has {word}")));
            }
            Some(word) => {
                says.push((several.to_vec(), format!("the running command line has {word}")));
            }
            // Xen's Linux has another first word.
            None if !words::has(line, "placeholder")
                && found.iter().any(|it| it.loader == Loader::Grub) =>
            {
                let all = found.iter().map(|it| it.loader).filter(|it| *it != Loader::Grub);
                let why = "the running command line has no BOOT_IMAGE=, which GRUB always writes";
                says.push((all.collect(), why.to_owned()));
            }
            None => {}
        }
        if let Some(word) = words::all(line).into_iter().find(|word| word.starts_with("initrd=\\"))
        {
            let set = vec![Loader::Entries, Loader::Refind, Loader::Other];
            says.push((set, format!("the running command line has {word}")));
        }
        let lines: Vec<Option<Vec<String>>> =
            found.iter().map(|it| lines(system, it.loader)).collect();
        let has = |own: &Option<Vec<String>>| own.iter().flatten().any(|own| is_in(line, own));
        let owners: Vec<&str> = found
            .iter()
            .zip(&lines)
            .filter(|(_, own)| has(own))
            .map(|(it, _)| it.name.as_str())
            .collect();
        // A loader whose lines are not known may also have it.
        let may = found.iter().zip(&lines).filter(|(_, own)| own.is_none() || has(own));
        let may: Vec<Loader> = may.map(|(it, _)| it.loader).collect();
        if !owners.is_empty() && may.len() < found.len() {
            says.push((may, format!("the running command line is one of {}", owners.join(" or "))));
        }
    }
    says
}

fn by_info(info: &str) -> Option<Vec<Loader>> {
    let first = info.split_ascii_whitespace().next()?.to_ascii_lowercase();
    Some(match first.as_str() {
        "systemd-boot" => vec![Loader::Entries, Loader::Unified],
        "grub" => vec![Loader::Grub],
        "refind" => vec![Loader::Refind],
        "limine" => vec![Loader::Limine],
        _ => return None,
    })
}

/// By the name of the program that the firmware started. `shim` and `BOOTX64.EFI` may start any.
fn by_file(file: &str) -> Option<Vec<Loader>> {
    let lower = file.to_ascii_lowercase().replace('/', "\\");
    let name = lower.rsplit('\\').next().unwrap_or_default();
    Some(match name {
        _ if lower.starts_with("\\efi\\linux\\") => vec![Loader::Unified],
        name if name.starts_with("systemd-boot") => vec![Loader::Entries, Loader::Unified],
        name if name.starts_with("grub") => vec![Loader::Grub],
        name if name.starts_with("refind") => vec![Loader::Refind],
        name if name.starts_with("limine") => vec![Loader::Limine],
        _ => return None,
    })
}

/// Command lines that a loader has; `None` if they are not read here.
fn lines(system: &System, loader: Loader) -> Option<Vec<String>> {
    let texts = |paths: &[&'static str]| {
        paths.iter().filter_map(|path| system.text(path)).map(str::to_owned).collect::<Vec<_>>()
    };
    Some(match loader {
        Loader::Entries => bls::lines_of(system, bls::entries(system)?),
        Loader::Grub => grub::config(system).map_or_else(Vec::new, |path| {
            let text = system.text(path).unwrap_or_default();
            let rest = |line: &str| {
                let mut words = line.split_ascii_whitespace();
                words.next().filter(|word| word.starts_with("linux"))?;
                words.next()?;
                Some(words.collect::<Vec<_>>().join(" "))
            };
            text.lines().filter_map(rest).collect()
        }),
        Loader::Extlinux => texts(&extlinux::CONFIGS)
            .iter()
            .flat_map(|text| {
                let places = menu::places(text).unwrap_or_default().into_iter();
                places
                    .filter_map(|(start, end)| text.get(start..end).map(str::to_owned))
                    .collect::<Vec<_>>()
            })
            .collect(),
        Loader::CmdlineTxt => texts(&single::CMDLINE_TXT),
        Loader::Zipl => {
            let text = system.text(single::ZIPL)?;
            single::zipl_lines(text).into_iter().map(str::to_owned).collect()
        }
        // The last quoted text of a line; entries of refind.conf on the EFI partition are not read.
        Loader::Refind => {
            let text = system.text(REFIND_LINES)?;
            text.lines().filter_map(|line| Some(line.rsplit('"').nth(1)?.to_owned())).collect()
        }
        // Inside the images; on a partition that may not be mounted.
        Loader::Unified | Loader::Limine => return None,
        Loader::Script | Loader::Other => Vec::new(),
    })
}

/// Returns whether all words of a loader are on the running line in sequence, including its root.
fn is_in(running: &str, own: &str) -> bool {
    let (running, own) = (words::all(running), words::all(own));
    own.len() > 1
        && own.iter().any(|word| word.starts_with("root="))
        && running.windows(own.len()).any(|window| window == own)
}
