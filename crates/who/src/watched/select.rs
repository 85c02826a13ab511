//! Which processes are meant by a name, a user, a control group, a container or a pod. Matching is pure; looking
//! through `/proc` is an edge. The names of containers and pods are read from the files of Docker, Podman and the
//! kubelet.

use super::process::living;
use super::{guard, patient};
use clocksmith_facts::given::{self, Kinds};
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The processes that are meant: all conditions hold, each by any of its values; an empty list is not a condition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Short names, or names of programs.
    pub names: Vec<String>,
    /// User ids.
    pub users: Vec<u32>,
    /// Control groups: a path or its last parts, or one part of it; with the groups below.
    pub cgroups: Vec<String>,
    /// Containers: ids or their beginnings, or names.
    pub containers: Vec<String>,
    /// Pods: ids or their beginnings, names, or NAMESPACE/NAME.
    pub pods: Vec<String>,
}

/// A process that may be meant.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Candidate {
    /// Its id.
    pub pid: u32,
    /// Its short name (`comm`).
    pub name: String,
    /// The program's name: of its file and of its first argument.
    pub programs: Vec<String>,
    /// The user that it belongs to.
    pub user: u32,
    /// Its control groups, one path for each hierarchy.
    pub cgroups: Vec<String>,
}

/// The beginning of an id that is long enough.
const ID: usize = 4;
/// Entries of a directory and bytes of a file that name containers.
const ENTRIES: usize = 4096;
const BYTES: u64 = 8 << 20;

impl Wanted {
    /// Returns whether no condition is set, so that every process is meant.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a process is meant.
    #[must_use]
    pub fn fits(&self, process: &Candidate) -> bool {
        fn any<T>(values: &[T], fits: impl Fn(&T) -> bool) -> bool {
            values.is_empty() || values.iter().any(fits)
        }
        let in_groups = |fits: &dyn Fn(&str) -> bool| process.cgroups.iter().any(|path| fits(path));
        // A short name is cut after 15 bytes.
        let named = |name: &String| {
            process.name == *name
                || process.programs.contains(name)
                || (process.name.len() == 15 && name.starts_with(&process.name))
        };
        any(&self.names, named)
            && any(&self.users, |user| *user == process.user)
            && any(&self.cgroups, |wish| in_groups(&|path| is_below(path, wish)))
            && any(&self.containers, |wish| in_groups(&|path| is_container(path, wish)))
            && any(&self.pods, |wish| in_groups(&|path| is_pod(path, wish)))
    }

    /// Replaces names of containers and pods by their ids, if these are known on this machine.
    pub fn resolve(&mut self) {
        let containers = std::mem::take(&mut self.containers);
        self.containers = containers.into_iter().flat_map(with_ids(containers_by_name)).collect();
        let pods = std::mem::take(&mut self.pods);
        self.pods = pods.into_iter().flat_map(with_ids(pods_by_name)).collect();
    }
}

fn with_ids(find: impl Fn(&str) -> Vec<String>) -> impl Fn(String) -> Vec<String> {
    move |wish| {
        let ids = find(&wish);
        ids.into_iter().chain([wish]).collect()
    }
}

/// Whether a path is a control group or below it.
fn is_below(path: &str, wish: &str) -> bool {
    let wish = wish.trim_start_matches("/sys/fs/cgroup").trim_matches('/');
    if wish.is_empty() {
        return false;
    }
    let (path, wish): (Vec<&str>, Vec<&str>) =
        (path.trim_matches('/').split('/').collect(), wish.split('/').collect());
    path.windows(wish.len()).any(|parts| parts == wish)
}

/// Whether a control group is a container's: Docker, Podman, containerd and CRI-O name it by an id of 64 digits, LXC,
/// Incus and systemd-nspawn by its name.
fn is_container(path: &str, wish: &str) -> bool {
    path.split('/').any(|part| {
        let plain = part.strip_suffix(".scope").or(part.strip_suffix(".service")).unwrap_or(part);
        let id = plain.rsplit('-').next().unwrap_or(plain);
        let hex = id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        if hex {
            return wish.len() >= ID && id.starts_with(wish);
        }
        let named = ["lxc.payload.", "lxc.monitor.", "machine-", "systemd-nspawn@"];
        named.iter().filter_map(|prefix| plain.strip_prefix(prefix)).any(|name| {
            let name = name.replace("\\x2d", "-");
            name == wish || name.strip_prefix("lxc-") == Some(wish)
        })
    }) || path.strip_prefix("/lxc/").is_some_and(|rest| rest.split('/').next() == Some(wish))
}

/// Whether a control group is a pod's: the kubelet names it by the id of the pod, with `_` for `-` below systemd.
fn is_pod(path: &str, wish: &str) -> bool {
    path.split('/').any(|part| {
        let plain = part.strip_suffix(".slice").unwrap_or(part);
        let Some((before, id)) = plain.rsplit_once("pod") else { return false };
        let of_kubelet = before.is_empty() || before.starts_with("kubepods");
        let id = id.replace('_', "-");
        // Of static pods it is a hash without dashes.
        let is_id =
            id.len() >= 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        of_kubelet && is_id && wish.len() >= ID && id.starts_with(wish)
    })
}

/// Ids of containers of a name, as Docker and Podman have them for root.
fn containers_by_name(name: &str) -> Vec<String> {
    let mut ids = Vec::new();
    let docker = Path::new("/var/lib/docker/containers");
    for entry in std::fs::read_dir(docker).into_iter().flatten().flatten().take(ENTRIES) {
        let file = entry.path().join("config.v2.json");
        ids.extend(docker_id(&stored(&file), name));
    }
    let podman = "/var/lib/containers/storage/overlay-containers/containers.json";
    ids.extend(podman_ids(&stored(Path::new(podman)), name));
    ids
}

/// A regular file of theirs.
fn stored(path: &Path) -> String {
    let bytes = given::read(path, Kinds::Regular, BYTES).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn docker_id(text: &str, name: &str) -> Option<String> {
    /// The fields that are kept of a container: all others are skipped as they are read.
    #[derive(serde::Deserialize)]
    struct Container {
        #[serde(rename = "ID")]
        id: String,
        #[serde(rename = "Name")]
        name: String,
    }
    let found: Container = serde_json::from_str(text).ok()?;
    (found.name.trim_start_matches('/') == name).then_some(found.id)
}

/// The ids of a name in Podman's list, which is read one container after the other: no more than the ids is kept.
fn podman_ids(text: &str, name: &str) -> Vec<String> {
    #[derive(serde::Deserialize)]
    struct Container {
        #[serde(default)]
        id: String,
        #[serde(default)]
        names: Option<Vec<String>>,
    }
    struct Named<'a> {
        name: &'a str,
        ids: &'a mut Vec<String>,
    }
    impl<'de> serde::de::Visitor<'de> for Named<'_> {
        type Value = ();

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a list of containers")
        }

        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut all: A) -> Result<(), A::Error> {
            while let Some(one) = all.next_element::<Container>()? {
                let names = one.names.unwrap_or_default();
                if !one.id.is_empty() && names.iter().any(|own| own == self.name) {
                    self.ids.push(one.id);
                }
            }
            Ok(())
        }
    }
    let mut ids = Vec::new();
    let mut reader = serde_json::Deserializer::from_str(text);
    // A list that is damaged is read up to there.
    let _ = serde::Deserializer::deserialize_seq(&mut reader, Named { name, ids: &mut ids });
    ids.truncate(ENTRIES);
    ids
}

/// Ids of pods of a name: the kubelet's directories of logs are `NAMESPACE_NAME_ID`.
fn pods_by_name(wish: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/var/log/pods").into_iter().flatten().flatten();
    let name = |entry: std::fs::DirEntry| entry.file_name().to_str().map(str::to_owned);
    entries.take(ENTRIES).filter_map(name).filter_map(|name| pod_id(&name, wish)).collect()
}

fn pod_id(directory: &str, wish: &str) -> Option<String> {
    let mut parts = directory.splitn(3, '_');
    let (namespace, name, id) = (parts.next()?, parts.next()?, parts.next()?);
    let fits = match wish.split_once('/') {
        Some((space, pod)) => space == namespace && pod == name,
        None => wish == name,
    };
    fits.then(|| id.to_owned())
}

/// Every process that can be seen, but this one.
#[must_use]
pub fn candidates() -> Vec<Candidate> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let own = std::process::id();
    let pids: Vec<u32> = entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| *pid != own)
        .collect();
    patient::each(&pids, |pid| {
        candidate(pid)
            .map(|found| serde_json::to_vec(&found).unwrap_or_default())
            .unwrap_or_default()
    })
    .into_iter()
    .filter_map(|answer| serde_json::from_slice(&answer?).ok())
    .collect()
}

/// The names of a process's program: of its file, and its first argument; `None` for a thread of the kernel.
fn programs(pid: u32) -> Option<BTreeSet<String>> {
    let at = living(pid);
    let base = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let mut names = BTreeSet::new();
    if let Ok(file) = std::fs::read_link(format!("/proc/{at}/exe")) {
        names.insert(base(file.to_string_lossy().trim_end_matches(" (deleted)")));
    }
    let line = guard::text(&format!("/proc/{at}/cmdline"), 64 << 10).unwrap_or_default();
    let first = line.split('\0').next().map(base).unwrap_or_default();
    if !first.is_empty() {
        names.insert(first);
    }
    // A thread of the kernel has neither; a program may have cleared its arguments.
    (!names.is_empty()).then_some(names)
}

fn candidate(pid: u32) -> Option<Candidate> {
    let read = |file: &str| guard::text(&format!("/proc/{pid}/{file}"), 64 << 10);
    let user = std::fs::metadata(format!("/proc/{pid}")).ok()?.uid();
    let name = read("comm")?.trim().to_owned();
    let programs = programs(pid)?;
    let cgroups = read("cgroup").unwrap_or_default();
    let path = |line: &str| line.splitn(3, ':').nth(2).map(str::to_owned);
    Some(Candidate {
        pid,
        name,
        programs: programs.into_iter().collect(),
        user,
        cgroups: cgroups.lines().filter_map(path).collect(),
    })
}

/// The id of a user: a number, or a name of `/etc/passwd`.
#[must_use]
pub fn user(name: &str) -> Option<u32> {
    if let Ok(id) = name.parse() {
        return Some(id);
    }
    user_of(Path::new("/etc/passwd"), name)
}

/// The user of a name by this file, if it is a regular file.
fn user_of(list: &Path, name: &str) -> Option<u32> {
    stored(list).lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next() == Some(name)).then(|| fields.nth(1)?.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ID_64: &str = "3f4e8a0c11223344556677889900aabbccddeeff00112233445566778899aabb";

    fn process(cgroup: &str) -> Candidate {
        Candidate {
            pid: 7,
            name: "postgres".to_owned(),
            programs: vec!["postgres".to_owned(), "postmaster".to_owned()],
            user: 999,
            cgroups: vec!["/".to_owned(), cgroup.to_owned()],
        }
    }

    #[test]
    fn fits_all_conditions_each_by_any_value() {
        let own = |text: &str| vec![text.to_owned()];
        let one = process("/system.slice/postgresql.service");
        assert!(
            Wanted { names: own("postmaster"), users: vec![1, 999], ..Wanted::default() }
                .fits(&one)
        );
        assert!(!Wanted { names: own("postgres"), users: vec![1], ..Wanted::default() }.fits(&one));
        for (wish, fits) in [
            ("postgresql.service", true),
            ("/sys/fs/cgroup/system.slice", true),
            ("system.slice/postgresql.service", true),
            ("postgresql", false),
            ("/", false),
        ] {
            assert_eq!(
                Wanted { cgroups: own(wish), ..Wanted::default() }.fits(&one),
                fits,
                "{wish}"
            );
        }
    }

    #[test]
    fn fits_containers_and_pods_by_their_control_groups() {
        let container = |path: &str, wish: &str| is_container(path, wish);
        for path in [
            format!("/system.slice/docker-{ID_64}.scope"),
            format!("/docker/{ID_64}"),
            format!("/machine.slice/libpod-{ID_64}.scope/container"),
            format!("/kubepods.slice/x/cri-containerd-{ID_64}.scope"),
        ] {
            assert!(container(&path, "3f4e8a0c") && container(&path, ID_64), "{path}");
            assert!(!container(&path, "3f4") && !container(&path, "ffff"), "{path}");
        }
        assert!(container("/lxc.payload.web-1/system.slice", "web-1"));
        assert!(container("/machine.slice/machine-web\\x2d1.scope", "web-1"));
        assert!(container("/lxc/web/init.scope", "web"));
        assert!(!container("/user.slice/web.scope", "web"));
        let uid = "1f0c5b0a-2222-4444-8888-1234567890ab";
        let path =
            format!("/kubepods.slice/kubepods-burstable-pod{}.slice/x", uid.replace('-', "_"));
        assert!(is_pod(&path, uid) && is_pod(&path, "1f0c5b0a"));
        assert!(is_pod(&format!("/kubepods/burstable/pod{uid}/x"), uid));
        assert!(!is_pod("/system.slice/podman.service", "man.service"));
        let directory = format!("shop_web-0_{uid}");
        assert_eq!(pod_id(&directory, "web-0").as_deref(), Some(uid));
        assert_eq!(pod_id(&directory, "shop/web-0").as_deref(), Some(uid));
        assert_eq!(pod_id(&directory, "other/web-0"), None);
    }

    #[test]
    fn names_of_containers_are_those_of_their_managers() {
        let docker = r#"{"ID":"abc","Name":"/web","Config":{}}"#;
        assert_eq!(docker_id(docker, "web").as_deref(), Some("abc"));
        assert_eq!(docker_id(docker, "db"), None);
        let podman = r#"[{"id":"x1","names":["db"]},{"id":"x2","names":["web","w"]}]"#;
        assert_eq!(podman_ids(podman, "w"), ["x2"]);
        let odd = r#"[{"names":["w"]},{"id":"x3","names":null,"layer":{"a":[1]}},{"id":"x4","names":["w"]},7]"#;
        assert_eq!(podman_ids(odd, "w"), ["x4"]);
        let many = format!("[{}{{}}]", r#"{"id":"x","names":["y"]},"#.repeat(200_000));
        assert_eq!(podman_ids(&many, "w"), [""; 0]);
        assert_eq!(podman_ids(&many, "y").len(), ENTRIES);
    }

    #[test]
    fn list_that_is_not_a_regular_file_gives_no_user_without_waiting() {
        let dir = tempfile::tempdir().unwrap();
        let (list, pipe) = (dir.path().join("passwd"), dir.path().join("pipe"));
        std::fs::write(&list, "root:x:0:0::/:/bin/sh\nweb:x:33:33::/:/bin/sh\n").unwrap();
        assert_eq!((user_of(&list, "web"), user_of(&list, "no")), (Some(33), None));
        let mode = rustix::fs::Mode::from_raw_mode(0o644);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert_eq!(user_of(&pipe, "web"), None);
        assert_eq!(user_of(Path::new("/dev/zero"), "web"), None);
    }

    #[test]
    fn candidates_have_no_kernel_threads_and_not_this_process() {
        let all = candidates();
        assert!(!all.is_empty() && all.iter().all(|one| one.pid != std::process::id()));
        assert!(all.iter().all(|one| one.name != "kthreadd"));
        assert_eq!(user("root"), Some(0));
        assert_eq!(user("no such user"), None);
    }

    proptest! {
        #[test]
        fn any_text_fits_or_not(path: String, wish: String) {
            let _ = (is_below(&path, &wish), is_container(&path, &wish), is_pod(&path, &wish));
            let _ = (docker_id(&path, &wish), podman_ids(&path, &wish), pod_id(&path, &wish));
        }
    }
}
