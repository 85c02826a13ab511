//! Keys that `VBoxManage setextradata` sets: decides whether another command of the script reads the key that would
//! change, and whether the script is for a VirtualBox that accepts the key.

use super::script::Guard;
use crate::edit::Edit;
use crate::versions::{version_near, written_out};

/// The first VirtualBox that refuses the keys of 4.x (`TMR3Init()` in `src/VBox/VMM/VMMR3/TM.cpp`).
const FIRST: u32 = 5;

/// The line on which a text names a VirtualBox before 5.0, and the version.
pub(crate) fn named_before_five(text: &str) -> Option<(usize, String)> {
    let lower = text.to_ascii_lowercase();
    ["virtualbox", "vbox"].iter().flat_map(|name| lower.match_indices(name)).find_map(
        |(at, name)| {
            let behind = lower.get(at + name.len()..)?.lines().next()?;
            let (_, shown) = version_near(behind)
                .or_else(|| written_out(behind))
                .filter(|((major, _), _)| (1..FIRST).contains(major))?;
            Some((at, shown))
        },
    )
}

impl Guard<'_> {
    /// Checks that a key may be changed.
    ///
    /// # Errors
    /// Returns the reason, with the line, if another command reads the key or this VirtualBox accepts it.
    pub(super) fn extradata(&self, edit: &Edit) -> Result<(), String> {
        let text = self.document.text.as_str();
        let edited = self.script.commands.iter().find(|command| {
            command.span.start < edit.span.end.max(edit.span.start + 1)
                && edit.span.start < command.span.end
        });
        let words = edited.map(|command| command.words.as_slice()).unwrap_or_default();
        let Some(at) = words.iter().position(|word| word.text == "setextradata") else {
            return Ok(());
        };
        if let Some((at, version)) = named_before_five(text) {
            return Err(format!(
                "line {}: VirtualBox {version} is named, which knows the keys that 5.0 refuses",
                self.line(at)
            ));
        }
        let key = words.get(at + 2).and_then(|word| word.literal()).unwrap_or_default();
        for command in &self.script.commands {
            let Some(at) = command.words.iter().position(|word| word.text == "getextradata") else {
                continue;
            };
            // `getextradata VM` alone, or with `enumerate`, prints all of them.
            let asked = command.words.get(at + 2);
            let own = asked.is_none_or(|word| {
                word.literal().is_none_or(|name| name == key || name == "enumerate")
            });
            if own {
                let line = self.line(command.span.start);
                return Err(format!("line {line}: getextradata may look for it"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::formats::Kind;
    use crate::testing::mended;

    fn removed(rest: &str) -> bool {
        let text = format!(
            "#!/bin/bash\nVBoxManage setextradata a VBoxInternal/TM/UseRealTSC 1\n{rest}VBoxManage startvm a\n"
        );
        mended(Kind::Virtualbox, "vm.sh", &text) != text
    }

    #[test]
    fn key_that_a_later_command_looks_at_stays() {
        for rest in [
            "VBoxManage getextradata a VBoxInternal/TM/UseRealTSC | grep -q 'Value: 1' || exit 1\n",
            "VBoxManage getextradata a enumerate | grep -q Real || exit 1\n",
            "[ \"$(VBoxManage getextradata a \"$KEY\")\" = 'Value: 1' ] || exit 1\n",
            "if VBoxManage getextradata a VBoxInternal/TM/UseRealTSC; then echo set; fi\n",
        ] {
            assert!(!removed(rest), "{rest}");
        }
    }

    #[test]
    fn key_beside_which_another_one_is_looked_at_goes() {
        assert!(removed(""));
        assert!(removed("VBoxManage getextradata a GUI/Fullscreen\n"));
    }
}
