//! `/etc/os-release`: os-release(5).

/// The distribution.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Os {
    /// `ID`: `debian`, `rhel`; empty where unknown.
    pub id: String,
    /// `ID_LIKE`.
    pub like: Vec<String>,
    /// `VERSION_ID`.
    pub version: String,
    /// `PRETTY_NAME`, for people.
    pub name: String,
    /// `VARIANT_ID`: `coreos`.
    pub variant: String,
}

impl Os {
    /// Reads the file's text.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut os = Self::default();
        for line in text.lines() {
            let Some((key, value)) = line.split_once('=') else { continue };
            let value = value.trim().trim_matches(['"', '\'']);
            match key.trim() {
                "ID" => os.id = value.to_ascii_lowercase(),
                "ID_LIKE" => {
                    os.like = value.split_whitespace().map(str::to_ascii_lowercase).collect();
                }
                "VERSION_ID" => value.clone_into(&mut os.version),
                "PRETTY_NAME" => value.clone_into(&mut os.name),
                "VARIANT_ID" => os.variant = value.to_ascii_lowercase(),
                _ => {}
            }
        }
        os
    }

    /// Whether it is this distribution, or made from it.
    #[must_use]
    pub fn is(&self, id: &str) -> bool {
        self.id == id || self.like.iter().any(|like| like == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_distributions_write() {
        let os = Os::parse(
            "NAME=Ubuntu\nID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"24.04\"\nPRETTY_NAME=\"Ubuntu 24.04\"\n",
        );
        assert!(os.is("debian") && os.is("ubuntu") && !os.is("fedora"));
        assert_eq!((os.version.as_str(), os.name.as_str()), ("24.04", "Ubuntu 24.04"));
        assert_eq!(Os::parse("\0\n=\nID"), Os::default());
    }
}
