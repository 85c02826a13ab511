-- What is compared between the reports of each host, oldest first.
SELECT
  host,
  taken_at,
  machine_id,
  verdict,
  clocksource,
  cost_ns,
  kernel,
  cpu,
  hypervisor
FROM history_hosts
WHERE taken_at IS NOT NULL
ORDER BY host, taken_at, taken_from
