-- Hosts whose reads cost something else than on those that are like them, with the same clocksource:
-- over twice (and 20 ns more than) the median, or under half of it. The median is that of a sorted list,
-- without a function of its own, so that every engine has it.
WITH placed AS (
  SELECT
    host, cpu, kernel, hypervisor, clocksource, cost_ns,
    row_number() OVER (
      PARTITION BY cpu, kernel, hypervisor, clocksource ORDER BY cost_ns
    ) AS place,
    count(*) OVER (PARTITION BY cpu, kernel, hypervisor, clocksource) AS hosts_like
  FROM hosts
  WHERE cost_ns IS NOT NULL
),
medians AS (
  SELECT
    cpu, kernel, hypervisor, clocksource, hosts_like,
    avg(cost_ns) AS median_ns
  FROM placed
  WHERE hosts_like >= 8 AND 2 * place BETWEEN hosts_like AND hosts_like + 2
  GROUP BY cpu, kernel, hypervisor, clocksource, hosts_like
)
SELECT
  h.host AS host,
  h.cost_ns AS cost_ns,
  m.median_ns AS median_ns,
  h.clocksource AS clocksource,
  h.cpu AS cpu,
  h.kernel AS kernel,
  h.hypervisor AS hypervisor,
  m.hosts_like AS hosts_like
FROM hosts h
JOIN medians m
  ON coalesce(h.cpu, '') = coalesce(m.cpu, '')
  AND coalesce(h.kernel, '') = coalesce(m.kernel, '')
  AND coalesce(h.hypervisor, '') = coalesce(m.hypervisor, '')
  AND coalesce(h.clocksource, '') = coalesce(m.clocksource, '')
WHERE (h.cost_ns > 2 * m.median_ns AND h.cost_ns > m.median_ns + 20)
  OR 2 * h.cost_ns < m.median_ns
ORDER BY h.cost_ns / m.median_ns DESC, h.host
