//! The vendors. Each text was read at the date that its rules state, or the rule names the text that was read instead.

mod aws;
mod google;
mod microsoft;
mod oracle;
mod red_hat;
mod sap;
mod scylladb;
mod suse;

use super::Vendor;

/// All of them, by id.
pub const VENDORS: &[&Vendor] = &[
    &aws::VENDOR,
    &google::VENDOR,
    &microsoft::VENDOR,
    &oracle::VENDOR,
    &red_hat::VENDOR,
    &sap::VENDOR,
    &scylladb::VENDOR,
    &suse::VENDOR,
];
