//! AWS: EC2, according to the settings in the machine image of its Kubernetes service. That image quotes the article
//! "How do I manage the clock source for EC2 instances running Linux?" of its knowledge centre, whose recommendations
//! have changed.

use crate::policy::when::{Is, When};
use crate::policy::{Ask, Cited, Rule, Vendor};
use clocksmith_facts::Arch;
use clocksmith_facts::hypervisor::Cloud;

const ARTICLE: &str =
    "AWS knowledge centre, How do I manage the clock source for EC2 instances running Linux?";
const EC2: Is = Is::Cloud(&[Cloud::Ec2Xen, Cloud::Ec2Nitro]);
const X86: Is = Is::Arch(&[Arch::X86_64, Arch::X86]);
const NITRO: When = When::all(&[Is::Cloud(&[Cloud::Ec2Nitro]), X86]);

pub(super) const VENDOR: Vendor = Vendor {
    id: "aws",
    name: "AWS",
    about: "EC2 instances",
    words: &["amazon", "ec2", "eks", "nitro", "bottlerocket"],
    clouds: &[Cloud::Ec2Xen, Cloud::Ec2Nitro],
    rules: &[
        Rule {
            machines: "EC2, Intel and AMD",
            when: When::all(&[EC2, X86]),
            purpose: None,
            ask: Ask::only(&["tsc"]),
            sets: &["tsc=reliable"],
            since: "2025-02-12",
            until: None,
            source: Cited {
                text: "awslabs/amazon-eks-ami, provisioners/set-clocksource.sh, pull request 2144",
                dated: "2025-02-12",
                read_in: None,
                words: "use the tsc clocksource by default",
            },
        },
        Rule {
            machines: "EC2, Graviton",
            when: When::all(&[EC2, Is::Arch(&[Arch::Arm64])]),
            purpose: None,
            ask: Ask::only(&["arch_sys_counter"]),
            sets: &[],
            since: "2023-06-15",
            until: None,
            source: Cited {
                text: ARTICLE,
                dated: "2023-06-15",
                read_in: Some("awslabs/amazon-eks-ami, pull request 1328"),
                words: "",
            },
        },
        Rule {
            machines: "EC2, Nitro, Intel and AMD",
            when: NITRO,
            purpose: None,
            ask: Ask::only(&["kvm-clock"]),
            sets: &[],
            since: "2023-06-29",
            until: Some("2025-02-12"),
            source: Cited {
                text: "awslabs/amazon-eks-ami, files/bin/configure-clocksource, pull request 1328",
                dated: "2023-06-29",
                read_in: None,
                words: "",
            },
        },
        Rule {
            machines: "EC2, Xen",
            when: When::all(&[Is::Cloud(&[Cloud::Ec2Xen]), X86]),
            purpose: None,
            ask: Ask::only(&["tsc"]),
            sets: &[],
            since: "2019-05-30",
            until: Some("2025-02-12"),
            source: Cited {
                text: "awslabs/amazon-eks-ami, pull request 272",
                dated: "2019-05-30",
                read_in: None,
                words: "Making tsc the clock source",
            },
        },
    ],
    kernels: &[],
    so_what: "The advice of AWS has changed: first tsc instead of xen on the Xen families, then kvm-clock on Nitro, \
              and later tsc again.",
    do_what: "Use tsc on EC2 if the instance has an invariant TSC. Do not add tsc=reliable: it has no advantage there \
              and disables every check.",
    see_also: &["kvm-clock", "clocksource=tsc", "tsc=reliable", "xen"],
};
