//! An opaque id of a machine, which distinguishes machines of one name.
//!
//! The machine's own id is confidential: machine-id(5) requires programs to derive their own id, from which the
//! original cannot be found. This is the id of `systemd-id128 machine-id --app-specific=4d0f...` and
//! sd_id128_get_machine_app_specific(3): HMAC-SHA256 of the program's id, with the machine's id as the key, cut to 128
//! bits and marked as a UUID of version 4.

use clocksmith_facts::collect;
use clocksmith_facts::tree::Tree;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The id of this program for this purpose. Another one would make new hosts of all hosts of a fleet.
const PROGRAM: u128 = 0x4d0f_6c1e_93b2_4f7a_a58e_1c7d_20e9_b364;

/// Returns the id of the machine whose files these are; `None` if it has no id.
pub(crate) fn of(tree: &dyn Tree) -> Option<String> {
    opaque(&collect::machine_id(tree)?)
}

fn opaque(machine_id: &str) -> Option<String> {
    let key = u128::from_str_radix(machine_id, 16).ok()?;
    let mut mac = Hmac::<Sha256>::new_from_slice(&key.to_be_bytes()).ok()?;
    mac.update(&PROGRAM.to_be_bytes());
    let hash = mac.finalize().into_bytes();
    let half: [u8; 16] = hash.get(..16)?.try_into().ok()?;
    let id = u128::from_be_bytes(half);
    // Version 4 and its variant, as systemd's id128_make_v4_uuid() sets them.
    let id = id & !(0xf << 76) & !(0b11 << 62) | 0x4 << 76 | 0b10 << 62;
    Some(format!("{id:032x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made with systemd 252: `systemd-id128 machine-id --app-specific=4d0f6c1e93b24f7aa58e1c7d20e9b364`, where
    /// /etc/machine-id was each of these.
    #[test]
    fn opaque_id_is_that_of_systemd() {
        for (machine, expected) in [
            ("00112233445566778899aabbccddeeff", "6db259c5bcab4dd7a2cade35f71859c0"),
            ("ffeeddccbbaa99887766554433221100", "8030a2c2ef0c480f883bf0259a6dbe06"),
        ] {
            assert_eq!(opaque(machine).as_deref(), Some(expected));
        }
    }
}
