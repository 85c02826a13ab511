-- Hosts by what decides where guests can move with their TSC: the groups are made of these rows.
SELECT
  tsc_khz,
  tsc_slack_khz,
  tsc_scaling,
  tsc_invariant,
  count(*) AS hosts,
  min(host) AS example
FROM hosts
GROUP BY tsc_khz, tsc_slack_khz, tsc_scaling, tsc_invariant
ORDER BY hosts DESC, example
