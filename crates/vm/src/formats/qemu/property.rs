//! QEMU property lists: `host,kvm=off,+invtsc`, `pc,hpet=off`, `kvm-pit.lost_tick_policy=discard`.

use crate::placed::Placed;
use std::ops::Range;

/// One property.
#[derive(Clone, Debug)]
pub(crate) struct Property {
    /// The name: lower case, `-` for `_`, without a sign.
    pub(crate) name: String,
    /// `+` or `-` in front of it.
    pub(crate) sign: Option<bool>,
    /// The text after `=`.
    pub(crate) value: Option<Placed>,
    /// The whole of it.
    pub(crate) whole: Placed,
    /// With the comma before it: the range that its removal deletes.
    with_comma: Placed,
}

impl Property {
    /// Whether it switches something on or off.
    pub(crate) fn state(&self) -> Option<bool> {
        if self.sign.is_some() {
            return self.sign;
        }
        match self.value.as_ref().map(|value| value.as_str().to_ascii_lowercase()) {
            None => Some(true),
            Some(value) => match value.as_str() {
                "on" | "yes" | "true" | "y" | "force" => Some(true),
                "off" | "no" | "false" | "n" => Some(false),
                _ => None,
            },
        }
    }

    /// Returns its place in the file.
    pub(crate) fn span(&self) -> Range<usize> {
        self.whole.span()
    }

    /// Returns the range to delete from the file to remove it.
    pub(crate) fn cut(&self) -> Option<Range<usize>> {
        self.with_comma.exact()
    }
}

/// A list of properties.
#[derive(Clone, Debug, Default)]
pub(crate) struct Properties {
    /// The first word, if it is not a property: the CPU model, the machine type.
    pub(crate) head: Option<Placed>,
    /// All others.
    pub(crate) list: Vec<Property>,
    /// The whole list.
    pub(crate) whole: Placed,
}

impl Properties {
    /// Reads a list. A list that begins with `name=value` has no head.
    pub(crate) fn parse(whole: &Placed) -> Self {
        let mut properties = Self { whole: whole.clone(), ..Self::default() };
        for (n, (range, part)) in whole.split(',').into_iter().enumerate() {
            let start = part.as_str().len() - part.as_str().trim_start().len();
            let part = part.slice(start..part.as_str().trim_end().len().max(start));
            let text = part.as_str();
            if n == 0 && !text.contains('=') {
                properties.head = Some(part);
                continue;
            }
            if text.is_empty() {
                continue;
            }
            let (sign, from) = match text.as_bytes().first() {
                Some(b'+') => (Some(true), 1),
                Some(b'-') => (Some(false), 1),
                _ => (None, 0),
            };
            let to = text.find('=').unwrap_or(text.len());
            let name =
                text.get(from..to).unwrap_or_default().to_ascii_lowercase().replace('_', "-");
            let value = (to < text.len()).then(|| part.slice(to + 1..text.len()));
            let with_comma = whole.slice(range.start.saturating_sub(usize::from(n > 0))..range.end);
            properties.list.push(Property { name, sign, value, whole: part, with_comma });
        }
        properties
    }

    /// Returns the property of a name that applies. QEMU applies `name=value` in order and then the signs, `-` last
    /// (target/i386/cpu.c, x86_cpu_parse_featurestr(), since 2.4).
    pub(crate) fn get(&self, name: &str) -> Option<&Property> {
        let of =
            |sign: Option<bool>| self.list.iter().rev().find(|p| p.name == name && p.sign == sign);
        of(Some(false)).or_else(|| of(Some(true))).or_else(|| of(None))
    }

    /// Returns whether a property is on or off; `None` if the list does not have it.
    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        self.get(name).and_then(Property::state)
    }

    /// The value of a property.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.get(name)?.value.as_ref().map(Placed::as_str)
    }

    /// The head in lower case.
    pub(crate) fn head_name(&self) -> String {
        self.head.as_ref().map(|head| head.as_str().to_ascii_lowercase()).unwrap_or_default()
    }

    /// Returns the place where more can be appended.
    pub(crate) fn end(&self) -> Option<usize> {
        self.whole.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Properties {
        Properties::parse(&Placed::new(text, 100))
    }

    #[test]
    fn signs_win_over_values() {
        let cpu = parse("host,kvm=off,+invtsc,hv_time,-rdtscp,rdtscp=on,tsc-frequency=5");
        assert_eq!(cpu.head_name(), "host");
        assert_eq!(cpu.flag("kvm"), Some(false));
        assert_eq!(cpu.flag("invtsc"), Some(true));
        assert_eq!(cpu.flag("hv-time"), Some(true));
        assert_eq!(cpu.flag("rdtscp"), Some(false));
        assert_eq!(cpu.flag("hypervisor"), None);
        assert_eq!(cpu.value("tsc-frequency"), Some("5"));
        assert_eq!(cpu.get("invtsc").unwrap().cut(), Some(112..120));
        assert_eq!(parse("invtsc=off,invtsc=on").flag("invtsc"), Some(true));
        assert!(parse("type=q35,hpet=off").head.is_none());
    }
}
