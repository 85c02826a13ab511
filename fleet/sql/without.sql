-- Hosts that are slow or untrustworthy, and for which no change is advised; and reports of hosts that
-- are there more than once (tables that were put together).
SELECT
  sum(CASE WHEN verdict IN ('slow', 'untrustworthy') AND remedy IS NULL THEN 1 ELSE 0 END) AS without,
  count(*) AS reports,
  count(DISTINCT host) AS hosts
FROM hosts
