-- Hosts by cause. A host has several, each once.
SELECT
  cause,
  CASE max(CASE severity WHEN 'critical' THEN 3 WHEN 'warning' THEN 2 ELSE 1 END)
    WHEN 3 THEN 'critical' WHEN 2 THEN 'warning' ELSE 'info' END AS severity,
  count(*) AS hosts,
  sum(CASE WHEN gravest THEN 1 ELSE 0 END) AS gravest_on,
  min(host) AS example
FROM causes
GROUP BY cause
ORDER BY hosts DESC, cause
