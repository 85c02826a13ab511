-- Hosts that are slow or untrustworthy, and for which no change is advised.
SELECT
  sum(CASE WHEN verdict IN ('slow', 'untrustworthy') AND remedy IS NULL THEN 1 ELSE 0 END) AS without,
  count(*) AS hosts
FROM hosts
