//! Hosts from KubeVirt: the labels that its node labeller puts on Kubernetes nodes.
//!
//! Source: KubeVirt `pkg/virt-controller/watch/topology/tsc.go` and the node labeller, 1.0 to 1.6:
//! `cpu-timer.node.kubevirt.io/tsc-frequency` (Hz) and `.../tsc-scalable`, from libvirt's capabilities;
//! `scheduling.node.kubevirt.io/tsc-frequency-N` is set for every frequency that a guest may request there, so it is
//! the node's own only if there is a single one.

use super::{Host, HostError, exact, frequency};
use crate::migrate::scale::Hardware;
use crate::yaml::{self, Node};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::fmt;

const FREQUENCY: &str = "cpu-timer.node.kubevirt.io/tsc-frequency";
const SCALABLE: &str = "cpu-timer.node.kubevirt.io/tsc-scalable";
const SCHEDULING: &str = "scheduling.node.kubevirt.io/tsc-frequency-";
const INVTSC: &str = "cpu-feature.node.kubevirt.io/invtsc";
const INTEL: &str = "cpu-vendor.node.kubevirt.io/Intel";
const AMD: &str = "cpu-vendor.node.kubevirt.io/AMD";

const NO_NODE: &str = "it contains no Kubernetes Node; `kubectl get nodes -o json` writes them";

#[derive(Deserialize)]
struct Object {
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    metadata: Metadata,
    #[serde(default, deserialize_with = "items")]
    items: Vec<Object>,
}

/// The limit of nodes in one list; Kubernetes supports 5,000.
const MOST_NODES: usize = 50_000;

/// Reads the items of a list, at most [`MOST_NODES`].
fn items<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Object>, D::Error> {
    struct Items;
    impl<'de> Visitor<'de> for Items {
        type Value = Vec<Object>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list")
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<Object>, A::Error> {
            let mut items = Vec::new();
            while let Some(item) = list.next_element()? {
                if items.len() >= MOST_NODES {
                    let why = format!("it has more than {MOST_NODES} items; split it");
                    return Err(serde::de::Error::custom(why));
                }
                items.push(item);
            }
            Ok(items)
        }
    }
    from.deserialize_seq(Items)
}

/// The labels that are read; two labels of scheduling are enough to show that there is more than one.
fn labels<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, String>, D::Error> {
    struct Labels;
    impl<'de> Visitor<'de> for Labels {
        type Value = BTreeMap<String, String>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("labels")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut labels = BTreeMap::new();
            let mut scheduling = 0;
            while let Some((name, value)) = map.next_entry::<String, String>()? {
                let of_scheduling = name
                    .strip_prefix(SCHEDULING)
                    .is_some_and(|hz| scheduling < 2 && frequency(hz).is_ok());
                scheduling += usize::from(of_scheduling && !labels.contains_key(&name));
                let read = [FREQUENCY, SCALABLE, INVTSC, INTEL, AMD].contains(&name.as_str());
                if read || of_scheduling {
                    labels.insert(name, value);
                }
            }
            Ok(labels)
        }
    }
    from.deserialize_map(Labels)
}

#[derive(Deserialize, Default)]
struct Metadata {
    #[serde(default)]
    name: Option<String>,
    #[serde(default, deserialize_with = "labels")]
    labels: BTreeMap<String, String>,
}

/// Reads a Node, a NodeList or a List from JSON.
///
/// # Errors
/// Returns an error if the text is not JSON, or has no node.
pub(crate) fn parse_json(text: &str) -> Result<Vec<Host>, HostError> {
    let object: Object = serde_json::from_str(text)
        .map_err(|error| HostError::Broken(format!("this JSON cannot be read: {error}")))?;
    let mut nodes = Vec::new();
    match object.kind.as_deref() {
        Some("Node") => nodes.push(object.metadata),
        Some("NodeList") => nodes.extend(object.items.into_iter().map(|item| item.metadata)),
        Some("List") => nodes.extend(
            object
                .items
                .into_iter()
                .filter(|item| item.kind.as_deref() == Some("Node"))
                .map(|item| item.metadata),
        ),
        _ => return Err(HostError::Kind),
    }
    hosts(nodes)
}

/// Reads the same from YAML, even from several documents in one file.
///
/// # Errors
/// Returns an error if the text is not YAML, or has no node.
pub(crate) fn parse_yaml(text: &str) -> Result<Vec<Host>, HostError> {
    let documents = yaml::parse(text).map_err(|error| {
        // A text that is not YAML is probably of another kind, not broken.
        if text.contains("kubevirt.io/") {
            HostError::Broken(format!("this YAML cannot be read: {error}"))
        } else {
            HostError::Kind
        }
    })?;
    let mut nodes = Vec::new();
    let mut known = false;
    for document in &documents {
        match string(document, "kind") {
            Some("Node") => nodes.push(metadata(document)),
            Some("NodeList" | "List") => {
                let items = document.at(&["items"]).map(Node::items).unwrap_or_default();
                let is_node = |item: &&Node| string(item, "kind").is_none_or(|kind| kind == "Node");
                nodes.extend(items.iter().filter(is_node).map(metadata));
            }
            _ => continue,
        }
        known = true;
    }
    if known { hosts(nodes) } else { Err(HostError::Kind) }
}

fn string<'a>(node: &'a Node, key: &str) -> Option<&'a str> {
    node.at(&[key])?.scalar().map(|(text, _)| text)
}

fn metadata(object: &Node) -> Metadata {
    let labels = match object.at(&["metadata", "labels"]) {
        Some(Node::Map { entries, .. }) => entries
            .iter()
            .filter_map(|(key, value)| Some((key.name.clone(), value.scalar()?.0.to_owned())))
            .collect(),
        _ => BTreeMap::new(),
    };
    let name = object.at(&["metadata"]).and_then(|metadata| string(metadata, "name"));
    Metadata { name: name.map(str::to_owned), labels }
}

fn hosts(nodes: Vec<Metadata>) -> Result<Vec<Host>, HostError> {
    if nodes.is_empty() {
        return Err(HostError::Empty(NO_NODE.to_owned()));
    }
    nodes.into_iter().map(host).collect()
}

fn host(node: Metadata) -> Result<Host, HostError> {
    let labels = &node.labels;
    let mut host = Host::unknown(node.name.unwrap_or_else(|| "a node without a name".to_owned()));
    let has = |label: &str| labels.get(label).is_some_and(|value| value == "true");
    if let Some(hz) = labels.get(FREQUENCY) {
        host.tsc = exact(frequency(hz)?);
    } else {
        let mut scheduling = labels
            .range(SCHEDULING.to_owned()..)
            .map_while(|(label, _)| label.strip_prefix(SCHEDULING))
            .filter_map(|hz| frequency(hz).ok());
        if let (Some(hz), None) = (scheduling.next(), scheduling.next()) {
            host.tsc = exact(hz);
        }
    }
    host.scaling = match labels.get(SCALABLE).map(String::as_str) {
        Some("true") => Some(true),
        Some("false") => Some(false),
        _ => None,
    };
    host.hardware = match (has(INTEL), has(AMD)) {
        (true, false) => Some(Hardware::Vmx),
        (false, true) => Some(Hardware::Svm),
        _ => None,
    };
    // libvirt reports only the frequency of an invariant TSC.
    host.invariant = (has(INVTSC) || host.tsc.is_some()).then_some(true);
    Ok(host.settle(
        "KubeVirt's node labeller, which sets the labels cpu-timer.node.kubevirt.io/*: the node \
         must be schedulable for virtual machines",
    ))
}
