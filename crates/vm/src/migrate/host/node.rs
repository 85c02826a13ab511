//! Hosts from KubeVirt: the labels that its node labeller puts on nodes of Kubernetes.
//!
//! Source: KubeVirt `pkg/virt-controller/watch/topology/tsc.go` and the node labeller, 1.0 to 1.6:
//! `cpu-timer.node.kubevirt.io/tsc-frequency` (Hz) and `.../tsc-scalable`, from libvirt's capabilities;
//! `scheduling.node.kubevirt.io/tsc-frequency-N` is set for every frequency that a guest may ask for
//! there, so it tells the node's own only when there is one alone.

use super::{Host, HostError, exact, frequency};
use crate::migrate::scale::Hardware;
use saphyr_parser::{Event, Parser};
use serde::Deserialize;
use std::collections::BTreeMap;

const FREQUENCY: &str = "cpu-timer.node.kubevirt.io/tsc-frequency";
const SCALABLE: &str = "cpu-timer.node.kubevirt.io/tsc-scalable";
const SCHEDULING: &str = "scheduling.node.kubevirt.io/tsc-frequency-";
const INVTSC: &str = "cpu-feature.node.kubevirt.io/invtsc";
const INTEL: &str = "cpu-vendor.node.kubevirt.io/Intel";
const AMD: &str = "cpu-vendor.node.kubevirt.io/AMD";

const NO_NODE: &str = "it holds no Node of Kubernetes; `kubectl get nodes -o json` writes them";

/// Nesting of YAML that is read; nodes have six levels.
const DEPTH: usize = 64;

#[derive(Deserialize)]
struct Object {
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    items: Vec<Object>,
}

#[derive(Deserialize, Default)]
struct Metadata {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

/// Reads a Node, a NodeList or a List from JSON.
///
/// # Errors
/// No JSON, or no node in it.
pub fn parse_json(text: &str) -> Result<Vec<Host>, HostError> {
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

/// Reads the same from YAML, also from several documents in one file.
///
/// # Errors
/// No YAML, or no node in it.
pub fn parse_yaml(text: &str) -> Result<Vec<Host>, HostError> {
    let mut reader = YamlReader::default();
    for event in Parser::new_from_str(text) {
        let (event, _) = event.map_err(|error| {
            // A text that is no YAML at all is more likely of another kind than broken.
            if text.contains("kubevirt.io/") {
                HostError::Broken(format!("this YAML cannot be read: {error}"))
            } else {
                HostError::Kind
            }
        })?;
        reader.event(event)?;
    }
    if reader.kinds.is_empty() { Err(HostError::Kind) } else { hosts(reader.nodes) }
}

/// One mapping or sequence that is open.
enum Open {
    /// A mapping, with the key whose value comes next.
    Mapping(Option<String>),
    Sequence,
}

/// Collects nodes from events, so that neither aliases nor nesting cost anything.
#[derive(Default)]
struct YamlReader {
    open: Vec<Open>,
    /// The `kind` of whole documents.
    kinds: Vec<String>,
    nodes: Vec<Metadata>,
    /// The object at each of the two places where nodes stand: the document, and an item of it.
    objects: [(Option<String>, Metadata); 2],
}

impl YamlReader {
    fn event(&mut self, event: Event<'_>) -> Result<(), HostError> {
        match event {
            Event::MappingStart(..) => self.push(Open::Mapping(None))?,
            Event::SequenceStart(..) => self.push(Open::Sequence)?,
            Event::MappingEnd => {
                if let Some(item) = self.object_level() {
                    self.finish(item);
                }
                self.open.pop();
                self.value_done();
            }
            Event::SequenceEnd => {
                self.open.pop();
                self.value_done();
            }
            Event::Scalar(text, ..) => match self.open.last_mut() {
                Some(Open::Mapping(key @ None)) => *key = Some(text.into_owned()),
                _ => {
                    self.scalar(&text);
                    self.value_done();
                }
            },
            Event::Alias(_) => match self.open.last_mut() {
                Some(Open::Mapping(key @ None)) => *key = Some(String::new()),
                _ => self.value_done(),
            },
            _ => {}
        }
        Ok(())
    }

    fn push(&mut self, open: Open) -> Result<(), HostError> {
        // A collection as a key of a mapping: its value is of no interest, its end must be seen.
        if let Some(Open::Mapping(key @ None)) = self.open.last_mut() {
            *key = Some(String::new());
            return Err(HostError::Broken("a key of this YAML is a collection".to_owned()));
        }
        if self.open.len() >= DEPTH {
            return Err(HostError::Broken("this YAML is nested too deeply for a node".to_owned()));
        }
        self.open.push(open);
        Ok(())
    }

    fn value_done(&mut self) {
        if let Some(Open::Mapping(key)) = self.open.last_mut() {
            *key = None;
        }
    }

    /// The keys from the document down to here; a sequence is `[]`.
    fn path(&self) -> Vec<&str> {
        self.open
            .iter()
            .map(|open| match open {
                Open::Mapping(key) => key.as_deref().unwrap_or(""),
                Open::Sequence => "[]",
            })
            .collect()
    }

    /// Whether the innermost mapping is an object: 0 for the document, 1 for an item of it.
    fn object_level(&self) -> Option<usize> {
        match self.path().as_slice() {
            [_] => Some(0),
            ["items", "[]", _] => Some(1),
            _ => None,
        }
    }

    fn scalar(&mut self, text: &str) {
        let (level, place): (usize, Vec<String>) = {
            let path = self.path();
            let (level, rest) = match path.as_slice() {
                ["items", "[]", rest @ ..] => (1, rest),
                rest => (0, rest),
            };
            (level, rest.iter().map(|key| (*key).to_owned()).collect())
        };
        let place: Vec<&str> = place.iter().map(String::as_str).collect();
        let Some((kind, metadata)) = self.objects.get_mut(level) else { return };
        match place.as_slice() {
            ["kind"] => *kind = Some(text.to_owned()),
            ["metadata", "name"] => metadata.name = Some(text.to_owned()),
            ["metadata", "labels", label] => {
                metadata.labels.insert((*label).to_owned(), text.to_owned());
            }
            _ => {}
        }
    }

    fn finish(&mut self, level: usize) {
        let Some(object) = self.objects.get_mut(level) else { return };
        let (kind, metadata) = std::mem::take(object);
        let listed = level == 1 && (kind.is_none() || kind.as_deref() == Some("Node"));
        if listed || kind.as_deref() == Some("Node") {
            self.nodes.push(metadata);
        }
        if level == 0 {
            self.kinds.extend(kind.filter(|kind| matches!(&**kind, "Node" | "NodeList" | "List")));
        }
    }
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
    // libvirt tells a frequency of an invariant TSC only.
    host.invariant = (has(INVTSC) || host.tsc.is_some()).then_some(true);
    Ok(host.settle(
        "KubeVirt's node labeller, which sets the labels cpu-timer.node.kubevirt.io/*: the node \
         must be schedulable for virtual machines",
    ))
}
