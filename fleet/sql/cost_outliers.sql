-- Hosts whose reads cost something else than on those that are like them, with the same clocksource:
-- over twice (and 20 ns more than) the median, or under half of it. The median is the middle of a sorted
-- list, without a function of its own, so that every engine has it. What is sorted is narrow, a number for
-- each kind and the cost; the sizes come from a GROUP BY, as a count over a window would hold all rows in
-- memory.
WITH sizes AS (
  SELECT
    cpu, kernel, hypervisor, clocksource, count(*) AS hosts_like,
    row_number() OVER (
      ORDER BY coalesce(cpu, ''), coalesce(kernel, ''), coalesce(hypervisor, ''), coalesce(clocksource, '')
    ) AS kind
  FROM hosts
  WHERE cost_ns IS NOT NULL
  GROUP BY cpu, kernel, hypervisor, clocksource
  HAVING count(*) >= 8
),
placed AS (
  SELECT
    s.kind AS kind,
    s.hosts_like AS hosts_like,
    h.cost_ns AS cost_ns,
    row_number() OVER (PARTITION BY s.kind ORDER BY h.cost_ns) AS place
  FROM sizes s
  JOIN hosts h
    ON coalesce(h.cpu, '') = coalesce(s.cpu, '')
    AND coalesce(h.kernel, '') = coalesce(s.kernel, '')
    AND coalesce(h.hypervisor, '') = coalesce(s.hypervisor, '')
    AND coalesce(h.clocksource, '') = coalesce(s.clocksource, '')
  WHERE h.cost_ns IS NOT NULL
),
middles AS (
  SELECT kind, avg(cost_ns) AS median_ns
  FROM placed
  WHERE 2 * place BETWEEN hosts_like AND hosts_like + 2
  GROUP BY kind
),
medians AS (
  SELECT s.cpu, s.kernel, s.hypervisor, s.clocksource, s.hosts_like, m.median_ns
  FROM middles m
  JOIN sizes s ON s.kind = m.kind
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
