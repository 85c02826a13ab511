-- Hosts by cause. A host has several; place 1 is not always the gravest, hosts.cause is.
SELECT
  c.cause AS cause,
  CASE max(CASE c.severity WHEN 'critical' THEN 3 WHEN 'warning' THEN 2 ELSE 1 END)
    WHEN 3 THEN 'critical' WHEN 2 THEN 'warning' ELSE 'info' END AS severity,
  count(DISTINCT c.host) AS hosts,
  count(DISTINCT CASE WHEN h.cause = c.cause THEN c.host END) AS gravest_on,
  min(c.host) AS example
FROM causes c
JOIN hosts h ON h.host = c.host
GROUP BY c.cause
ORDER BY hosts DESC, c.cause
