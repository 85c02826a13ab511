-- Hosts with another clocksource or verdict than those that are like them: same processor, kernel
-- release and hypervisor, eight or more, of which at least nine in ten agree.
WITH kinds AS (
  SELECT cpu, kernel, hypervisor, clocksource, verdict, count(*) AS usual_hosts
  FROM hosts
  GROUP BY cpu, kernel, hypervisor, clocksource, verdict
),
ranked AS (
  SELECT
    cpu, kernel, hypervisor, clocksource, verdict, usual_hosts,
    sum(usual_hosts) OVER (PARTITION BY cpu, kernel, hypervisor) AS hosts_like,
    row_number() OVER (
      PARTITION BY cpu, kernel, hypervisor
      ORDER BY usual_hosts DESC, coalesce(clocksource, ''), verdict
    ) AS place
  FROM kinds
),
usual AS (
  SELECT cpu, kernel, hypervisor, clocksource, verdict, usual_hosts, hosts_like
  FROM ranked
  WHERE place = 1 AND hosts_like >= 8 AND usual_hosts * 10 >= hosts_like * 9
)
SELECT
  h.host AS host,
  h.clocksource AS clocksource,
  h.verdict AS verdict,
  h.cause AS cause,
  u.clocksource AS usual_clocksource,
  u.verdict AS usual_verdict,
  u.usual_hosts AS usual_hosts,
  h.cpu AS cpu,
  h.kernel AS kernel,
  h.hypervisor AS hypervisor,
  CAST(u.hosts_like AS BIGINT) AS hosts_like
FROM usual u
JOIN hosts h
  ON coalesce(h.cpu, '') = coalesce(u.cpu, '')
  AND coalesce(h.kernel, '') = coalesce(u.kernel, '')
  AND coalesce(h.hypervisor, '') = coalesce(u.hypervisor, '')
WHERE h.clocksource IS NOT NULL
  AND h.verdict <> 'unknown'
  AND (h.clocksource <> coalesce(u.clocksource, '') OR h.verdict <> u.verdict)
ORDER BY hosts_like DESC, h.host
