//! Masks the passwords, keys and tokens among the parameters of a kernel.
//!
//! Programs of the initial RAM disk take their settings from the kernel's command line (`rd.iscsi.password=`,
//! `inst.ks=https://NAME:PASSWORD@HOST/`), and the kernel prints the whole line into its log. No parameter of a clock has
//! such a name.

use std::cell::RefCell;
use std::collections::BTreeSet;

/// Parts of a name, between its dots, hyphens and underscores, that are a secret's.
const PARTS: [&str; 9] =
    ["key", "keys", "pw", "pwd", "pass", "passwd", "pin", "credential", "credentials"];
/// The same, of names that may also be those of a switch, whose value is not a secret.
const MAYBE: [&str; 10] =
    ["auth", "chap", "community", "cookie", "cred", "creds", "jwt", "psk", "sig", "signature"];
/// Ends of such parts: `rootpw`, `hostkey`, `AccountKey`.
const ENDS: [&str; 6] = ["key", "pass", "psk", "pw", "chap", "cred"];
/// Parts with such an end that are not a secret's.
const OTHERS: [&str; 3] = ["bypass", "hotkey", "monkey"];
/// Values of a switch.
const SWITCH: [&str; 10] = ["0", "1", "y", "n", "yes", "no", "on", "off", "none", "auto"];
/// The fewest signs of a value that is a key or a digest whatever its name is.
const LONG: usize = 32;
/// Texts that only the name of a secret contains.
const TEXTS: [&str; 9] = [
    "password",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "authkey",
    "cryptkey",
    "keyfile",
    "credential",
];
/// Takes the place of a value.
const MASK: &str = "x";

/// The names of the parameters whose values were masked.
#[derive(Debug, Default)]
pub(super) struct Masked(RefCell<BTreeSet<String>>);

impl Masked {
    /// The names, sorted.
    pub(super) fn into_names(self) -> Vec<String> {
        self.0.into_inner().into_iter().collect()
    }

    /// The line without the values of secret parameters, and without the password of an address.
    pub(super) fn line(&self, line: &str) -> String {
        let mut out = String::with_capacity(line.len());
        let mut rest = line;
        while let Some(at) = rest.find('=') {
            let (before, behind) = (&rest[..at], &rest[at + 1..]);
            let name = before.rsplit(|c: char| !is_of_name(c)).next().unwrap_or_default();
            let length = value_length(behind);
            let value = &behind[..length];
            out.push_str(before);
            out.push('=');
            rest = &behind[length..];
            match hidden(name, value) {
                Some(masked) => {
                    self.0.borrow_mut().insert(name.to_owned());
                    out.push_str(&masked);
                }
                // A value may contain another parameter: `ds=nocloud;password=x`.
                None => rest = behind,
            }
        }
        out + rest
    }
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
}

/// The length of a parameter's value: up to a blank outside of quotation marks, or up to the mark that closes a quotation
/// around the parameter.
fn value_length(text: &str) -> usize {
    let mut open = None;
    for (at, c) in text.char_indices() {
        match (open, c) {
            (Some(mark), c) if c == mark => open = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => {
                let behind = text.get(at + 1..).unwrap_or_default();
                if at > 0 && !behind.starts_with(|c: char| c.is_alphanumeric()) {
                    return at;
                }
                open = Some(c);
            }
            (None, c) if c.is_whitespace() => return at,
            (None, _) => {}
        }
    }
    text.len()
}

/// What is shown of a value, if it has a secret.
fn hidden(name: &str, value: &str) -> Option<String> {
    if value.is_empty() || value == MASK {
        return None;
    }
    if is_secret(name, value) || !name.is_empty() && is_key(value) {
        return Some(MASK.to_owned());
    }
    // `https://NAME:PASSWORD@HOST/`, `iscsi:NAME:PASSWORD@HOST::`.
    let from = value
        .find("://")
        .map(|at| at + 3)
        .or_else(|| value.strip_prefix("iscsi:").map(|rest| value.len() - rest.len()))?;
    let host = from + value.get(from..)?.find('@')?;
    let user = value.get(from..host)?;
    let start = from + user.rfind(':').map_or(0, |at| at + 1);
    let hidden = value.get(start..host)?;
    (hidden != MASK && !hidden.is_empty()).then(|| [&value[..start], MASK, &value[host..]].concat())
}

/// Whether a value is all of a long hexadecimal number or a long text in base64, with digits and letters.
fn is_key(value: &str) -> bool {
    let value = value.trim_matches(['"', '\'']).trim_end_matches('=');
    let sign = |b: u8| b.is_ascii_alphanumeric() || b"+/_-".contains(&b);
    let has = |is: fn(&u8) -> bool| value.bytes().any(|b| is(&b));
    // A path, or words between hyphens, are of another kind.
    let groups = value.split(['/', '-', '_']).count();
    value.len() >= LONG
        && value.bytes().all(sign)
        && !value.starts_with('/')
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && value.len() / groups >= 12
}

fn is_secret(name: &str, value: &str) -> bool {
    let small = name.to_ascii_lowercase();
    let is_switch = SWITCH.contains(&value.to_ascii_lowercase().as_str());
    let ends = |part: &str| ENDS.iter().any(|end| part.ends_with(end)) && !OTHERS.contains(&part);
    let part = |part: &str| {
        PARTS.contains(&part)
            || part.ends_with("pass") && part != "bypass"
            || !is_switch && (MAYBE.contains(&part) || ends(part))
    };
    small.split(['.', '_', '-']).any(part) || TEXTS.iter().any(|text| small.contains(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(text: &str) -> (String, Vec<String>) {
        let masked = Masked::default();
        (masked.line(text), masked.into_names())
    }

    #[test]
    fn values_of_secret_parameters_are_masked_and_named() {
        for (text, kept, names) in [
            ("ro password=hunter2 quiet", "ro password=x quiet", "password"),
            ("rd.luks.key=/k:UUID=1 tsc=reliable", "rd.luks.key=x tsc=reliable", "rd.luks.key"),
            (
                "rd.iscsi.in.password=\"a b\" ro",
                "rd.iscsi.in.password=x ro",
                "rd.iscsi.in.password",
            ),
            ("cifspass=a,b", "cifspass=x", "cifspass"),
            ("systemd.set_credential=a.b:c", "systemd.set_credential=x", "systemd.set_credential"),
            (
                "password='a b'c luks.key=a\"b c\"d ro",
                "password=x luks.key=x ro",
                "luks.key password",
            ),
            ("API_KEY=1 coreos.token=2", "API_KEY=x coreos.token=x", "API_KEY coreos.token"),
            (
                "inst.ks=https://me:pw@host/ks.cfg ro",
                "inst.ks=https://me:x@host/ks.cfg ro",
                "inst.ks",
            ),
            ("u=https://tok@host/", "u=https://x@host/", "u"),
            (
                "netroot=iscsi:me:pw@10.0.0.1::::iqn",
                "netroot=iscsi:me:x@10.0.0.1::::iqn",
                "netroot",
            ),
            (
                "[    0.1] Unknown kernel command line parameters \"password=a b=c\", will be",
                "[    0.1] Unknown kernel command line parameters \"password=x b=c\", will be",
                "password",
            ),
            ("ds=nocloud;password=a ro", "ds=nocloud;password=x ro", "password"),
            ("inst.rootpw=$6$ab ro", "inst.rootpw=x ro", "inst.rootpw"),
            ("iscsi_chap=a:b ro", "iscsi_chap=x ro", "iscsi_chap"),
            ("wifi.psk=abc psk=abc", "wifi.psk=x psk=x", "psk wifi.psk"),
            ("snmp.community=public1", "snmp.community=x", "snmp.community"),
            ("nvme.hostkey=DHHC-1:00:ia6z: ro", "nvme.hostkey=x ro", "nvme.hostkey"),
            ("c=A;AccountKey=abc== ro", "c=A;AccountKey=x ro", "AccountKey"),
            ("jwt=ey.J auth=b cred=c sig=d", "jwt=x auth=x cred=x sig=x", "auth cred jwt sig"),
            ("blob=0123456789abcdef0123456789abcdef ro", "blob=x ro", "blob"),
            ("blob=QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo0NTY3ODk= ro", "blob=x ro", "blob"),
        ] {
            let (masked, found) = line(text);
            assert_eq!((masked.as_str(), found.join(" ").as_str()), (kept, names), "{text}");
        }
    }

    #[test]
    fn other_parameters_stay_as_they_are() {
        for text in [
            "BOOT_IMAGE=/vmlinuz root=/dev/vda1 clocksource=tsc tsc=reliable hpet=disable",
            "iommu.passthrough=1 vconsole.keymap=de crashkernel=1G-4G:192M@16M memmap=1M@2M x=bypass",
            "[    0.000000] clocksource: hpet: mask: 0xffffffff max_cycles: 0xffffffff",
            "password= token",
            "module.sig_enforce=1 auth=off thinkpad_acpi.hotkey=0xffff",
            "BOOT_IMAGE=/ostree/fedora-0123456789abcdef0123456789abcdef/vmlinuz-6.1.0-18-amd64",
            "initrd=initramfs-6.1.0-18-amd64-with-a-long-name-of-5.img resume=/dev/mapper/vg0-swap_1",
        ] {
            assert_eq!(line(text), (text.to_owned(), Vec::new()));
        }
    }

    proptest! {
        #[test]
        fn masking_is_done_once_and_for_all(text in "([a-z.=\"' :@/x]|password=|key=){0,30}") {
            let once = line(&text).0;
            prop_assert_eq!(line(&once), (once.clone(), Vec::new()));
        }
    }
}
