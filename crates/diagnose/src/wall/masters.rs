//! Several programs that steer the wall clock at once.

use super::judge::View;
use super::report::WallClockReport;
use super::words::{cause, sentence, settle};
use crate::cause::{Cause, CauseId, Confidence, Evidence, Severity};
use clocksmith_facts::Fact;
use clocksmith_facts::wall::Role;

impl View<'_> {
    /// Reports several programs that steer the clock at once: by the processes that were seen, or by the output of a
    /// hypervisor's tools and a time daemon.
    pub(super) fn masters(
        &self,
        report: &mut WallClockReport,
        words: &mut Vec<String>,
        causes: &mut Vec<Cause>,
    ) {
        self.tools_and_daemon(words, causes);
        let steering = self.names(|role| role == Role::Steers);
        let Some((_, source)) = self.keepers else { return };
        if steering.len() > 1 {
            let summary = format!(
                "{} each steer the wall clock: one undoes what the other does, and the time jumps or swings between \
                 them",
                steering.join(" and ")
            );
            words.push(sentence(&summary));
            let evidence = steering
                .iter()
                .map(|name| {
                    Evidence::new(source.0.clone(), format!("{name} runs and may set the clock"))
                })
                .collect();
            causes.push(cause(
                CauseId::TwoMasters,
                Severity::Warning,
                Confidence::High,
                summary,
                evidence,
            ));
        }
        let open = self.names(|role| role == Role::Open);
        if !steering.is_empty() && open.contains(&"vmtoolsd") {
            report.settles.push(settle(
                "whether VMware Tools steer the clock as well",
                "vmware-toolbox-cmd timesync status",
            ));
        }
    }

    /// Both a hypervisor's tools and NTP set the clock all the time.
    fn tools_and_daemon(&self, words: &mut Vec<String>, causes: &mut Vec<Cause>) {
        let Fact::Known { value: tools, source } = &self.facts.wall.tools else { return };
        if !tools.steer {
            words.push(format!(
                "{} do not set this guest's clock all the time: their periodic synchronisation is off.",
                tools.name
            ));
            return;
        }
        let told = self.told.filter(|(told, _)| told.follows.or(told.logged) == Some(true));
        let told = told.filter(|(told, _)| !told.daemon.is_empty() && !told.is_local);
        let service = match &self.facts.wall.ntp_service {
            Fact::Known { value: true, source } => Some(source),
            _ => None,
        };
        // A daemon that follows a source proves more than an active service, which may be configured not to set the
        // clock.
        let (other, sure, place) = match (told, service) {
            (Some((told, source)), _) => (told.daemon.to_owned(), Confidence::High, source),
            (None, Some(source)) => ("an NTP service".to_owned(), Confidence::Medium, source),
            (None, None) => {
                words.push(format!(
                    "{} set this guest's clock to the host's again and again: their periodic \
                     synchronisation is on, so an error of the host's clock reaches this guest; \
                     whether they set back a clock that is ahead depends on the tools and their \
                     version. Whether a time daemon sets it as well is not in this evidence.",
                    tools.name
                ));
                return;
            }
        };
        let summary = format!(
            "{} and {other} each steer the wall clock: the tools set it to the host's time again and again, and \
             NTP to its own. If the host's clock is wrong, the time swings between the two",
            tools.name
        );
        words.push(sentence(&summary));
        let evidence = vec![
            Evidence::new(
                source.0.clone(),
                format!("periodic synchronisation of {} is on", tools.name),
            ),
            Evidence::new(place.0.clone(), format!("{other} is active")),
        ];
        causes.push(cause(CauseId::TwoMasters, Severity::Warning, sure, summary, evidence));
    }
}
