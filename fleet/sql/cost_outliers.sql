-- Hosts whose reads cost something else than on those that are like them, with the same clocksource:
-- over twice (and 20 ns more than) the median, or under half of it. The median is the middle of a sorted
-- list, without a function of its own, so that every engine has it; the sizes come from a GROUP BY, as a
-- count over a window would hold all rows in memory.
WITH sizes AS (
  SELECT cpu, kernel, hypervisor, clocksource, count(*) AS hosts_like
  FROM hosts
  WHERE cost_ns IS NOT NULL
  GROUP BY cpu, kernel, hypervisor, clocksource
  HAVING count(*) >= 8
),
placed AS (
  SELECT
    cpu, kernel, hypervisor, clocksource, cost_ns,
    row_number() OVER (
      PARTITION BY cpu, kernel, hypervisor, clocksource ORDER BY cost_ns
    ) AS place
  FROM hosts
  WHERE cost_ns IS NOT NULL
),
medians AS (
  SELECT
    s.cpu AS cpu,
    s.kernel AS kernel,
    s.hypervisor AS hypervisor,
    s.clocksource AS clocksource,
    s.hosts_like AS hosts_like,
    avg(p.cost_ns) AS median_ns
  FROM sizes s
  JOIN placed p
    ON coalesce(p.cpu, '') = coalesce(s.cpu, '')
    AND coalesce(p.kernel, '') = coalesce(s.kernel, '')
    AND coalesce(p.hypervisor, '') = coalesce(s.hypervisor, '')
    AND coalesce(p.clocksource, '') = coalesce(s.clocksource, '')
  WHERE 2 * p.place BETWEEN s.hosts_like AND s.hosts_like + 2
  GROUP BY s.cpu, s.kernel, s.hypervisor, s.clocksource, s.hosts_like
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
FROM medians m
JOIN hosts h
  ON coalesce(h.cpu, '') = coalesce(m.cpu, '')
  AND coalesce(h.kernel, '') = coalesce(m.kernel, '')
  AND coalesce(h.hypervisor, '') = coalesce(m.hypervisor, '')
  AND coalesce(h.clocksource, '') = coalesce(m.clocksource, '')
WHERE (h.cost_ns > 2 * m.median_ns AND h.cost_ns > m.median_ns + 20)
  OR 2 * h.cost_ns < m.median_ns
ORDER BY h.cost_ns / m.median_ns DESC, h.host
