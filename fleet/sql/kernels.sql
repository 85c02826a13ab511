-- Hosts by kernel series.
SELECT
  kernel_series AS name,
  count(*) AS hosts,
  sum(CASE WHEN verdict = 'ok' THEN 1 ELSE 0 END) AS ok,
  sum(CASE WHEN verdict = 'slow' THEN 1 ELSE 0 END) AS slow,
  sum(CASE WHEN verdict = 'untrustworthy' THEN 1 ELSE 0 END) AS untrustworthy,
  sum(CASE WHEN verdict = 'unknown' THEN 1 ELSE 0 END) AS unknown,
  min(host) AS example
FROM hosts
GROUP BY kernel_series
ORDER BY hosts DESC, coalesce(kernel_series, '')
