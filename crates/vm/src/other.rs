//! Files of programs for virtual machines that configure no clock: what they are, for the refusal.

use crate::detect::Clues;
use crate::{named, xml};

/// Objects of libvirt other than domains: the root element, elements of which it has one, and the name for people.
const OBJECTS: [(&str, &str, &str); 6] = [
    ("network", "<forward <bridge <ip <dns <portgroup", "a network"),
    ("pool", "<source <target", "a storage pool"),
    ("volume", "<capacity <allocation <backingStore", "a storage volume"),
    ("secret", "<usage", "a secret"),
    ("filter", "<rule <filterref", "a network filter"),
    ("device", "<capability", "a device of a host"),
];

/// Returns what a file of no kind is, if it is of a program for virtual machines.
pub(crate) fn what(name: &str, text: &str) -> Option<String> {
    let clues = Clues::new(name, text);
    if let Some((_, root)) = xml::root(clues.text) {
        let has = |list: &str| list.split(' ').any(|name| xml::tags(clues.text, name).count() > 0);
        let (_, _, object) =
            OBJECTS.iter().find(|(name, inside, _)| *name == root && has(inside))?;
        return Some(format!("it is {object} of libvirt, and not a domain"));
    }
    let runs = |program: &str, words: &str| named::runs(clues.text, program, words);
    if runs("multipass", "launch set") {
        return Some("it runs Multipass, which has no option for a clock".to_owned());
    }
    let openstack = runs("openstack", "flavor image") || runs("nova", "flavor-key flavor-create");
    openstack
        .then(|| "it gives OpenStack flavors or images no property that affects a clock".to_owned())
}

#[cfg(test)]
mod tests {
    use crate::Document;

    #[test]
    fn refusal_says_what_the_file_is() {
        for (text, what) in [
            (
                "<network>\n  <name>lab</name>\n  <bridge name='virbr9'/>\n</network>\n",
                "a network of libvirt",
            ),
            (
                "<?xml version='1.0'?>\n<!-- a -->\n<pool type='dir'>\n  <target>\n    <path>/a</path>\n  </target>\n</pool>\n",
                "a storage pool of libvirt",
            ),
            ("<volume>\n  <capacity unit='G'>9</capacity>\n</volume>\n", "a storage volume"),
            ("#!/bin/sh\nset -e\nmultipass launch --name n1 -c 2\n", "it runs Multipass"),
            (
                "openstack flavor create --vcpus 2 f\nopenstack flavor set --property hw:cpu_policy=dedicated f\n",
                "no property that affects a clock",
            ),
        ] {
            let error = Document::new("a", text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
            assert!(!error.contains("--kind"), "{error}");
        }
        for text in
            ["<network><node/></network>", "<feed/>", "to be or not to be", "echo multipass launch"]
        {
            let error = Document::new("a", text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains("--kind"), "{error}");
        }
    }
}
