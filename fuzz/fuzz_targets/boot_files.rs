//! Boot configurations: any text is read without harm, adding and then removing a parameter leaves the same bytes, and
//! adding twice is adding once. The first byte chooses the boot loader, the rest is its file.

#![no_main]

use clocksmith_change::boot;
use clocksmith_change::system::{System, Text};
use clocksmith_change::words::Change;
use clocksmith_change::{Action, mistakes};
use libfuzzer_sys::fuzz_target;
use std::path::PathBuf;

/// A file, and the programs that make its loader be found.
const LOADERS: [(&str, &[&str]); 9] = [
    ("/etc/default/grub", &["grub-mkconfig"]),
    ("/etc/default/grub", &["update-grub"]),
    ("/boot/loader/entries/a.conf", &[]),
    ("/boot/loader/entries/a.conf", &["grubby"]),
    ("/etc/update-extlinux.conf", &[]),
    ("/etc/default/u-boot", &[]),
    ("/boot/extlinux.conf", &[]),
    ("/etc/zipl.conf", &[]),
    ("/boot/cmdline.txt", &[]),
];

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else { return };
    let Some((path, programs)) = LOADERS.get(usize::from(*first) % LOADERS.len()) else { return };
    let text = String::from_utf8_lossy(rest).into_owned();
    let mut system = System::default();
    system.os.id = "debian".to_owned();
    system.programs = programs.iter().map(|name| (*name).to_owned()).collect();
    system.files.insert(PathBuf::from(path), Text::Is(text.clone()));
    let _ = mistakes::find(&system);
    let wanted = Change { add: vec!["zz.zz=1".to_owned()], remove: Vec::new() };
    let Ok(way) = boot::plan(&system, &wanted, None) else { return };
    let later = written(&system, &way);
    // Added words are part of a quote that is not closed, for the kernel as well.
    if text.contains(['"', '\'', '\\', '`']) || text.contains("zz.zz=1") {
        return;
    }
    if let Ok(again) = boot::plan(&later, &wanted, None) {
        assert!(again.steps.is_empty(), "twice is not once: {text:?}");
    }
    if let Ok(back) = boot::plan(&later, &wanted.reversed(), None) {
        let back = written(&later, &back);
        let _ = back.text(path);
    }
});

fn written(system: &System, way: &boot::Way) -> System {
    let mut system = system.clone();
    for step in &way.steps {
        if let Action::Write { path, content, .. } = &step.action {
            system.files.insert(path.clone(), Text::Is(content.clone()));
        }
    }
    system
}
