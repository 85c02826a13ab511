//! The commands that change the kernel command line on this machine's distribution.

use crate::causes::Case;
use clocksmith_facts::version::Vendor;

/// Commands that add words to the kernel command line at the next boot.
pub(super) fn add(case: &Case<'_>, words: &str) -> Vec<String> {
    let words = words.trim();
    match case.machine.kernel.value.vendor {
        Vendor::Rhel(_) | Vendor::Fedora | Vendor::Oracle | Vendor::Amazon => {
            vec![format!("grubby --update-kernel=ALL --args='{words}'")]
        }
        Vendor::Debian | Vendor::Ubuntu => vec![
            format!(
                "echo 'GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT {words}\"' > \
                 /etc/default/grub.d/50-clocksmith.cfg"
            ),
            "update-grub".to_owned(),
        ],
        Vendor::Suse => vec![
            format!("edit /etc/default/grub: append {words} to GRUB_CMDLINE_LINUX_DEFAULT"),
            "grub2-mkconfig -o /boot/grub2/grub.cfg".to_owned(),
        ],
        Vendor::Unknown => {
            vec![format!("add to the kernel command line, with this system's boot loader: {words}")]
        }
    }
}

/// Commands that take a word off the kernel command line at the next boot.
pub(super) fn remove(case: &Case<'_>, word: &str) -> Vec<String> {
    match case.machine.kernel.value.vendor {
        Vendor::Rhel(_) | Vendor::Fedora | Vendor::Oracle | Vendor::Amazon => {
            vec![format!("grubby --update-kernel=ALL --remove-args='{word}'")]
        }
        Vendor::Debian | Vendor::Ubuntu => vec![
            format!("grep -rn '{word}' /etc/default/grub /etc/default/grub.d   # and take it out there"),
            "update-grub".to_owned(),
        ],
        Vendor::Suse => vec![
            format!("grep -n '{word}' /etc/default/grub   # and take it out there"),
            "grub2-mkconfig -o /boot/grub2/grub.cfg".to_owned(),
        ],
        Vendor::Unknown => {
            vec![format!("take off the kernel command line, with this system's boot loader: {word}")]
        }
    }
}
