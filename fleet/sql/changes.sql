-- What one change would answer: hosts on which it is the first remedy that is not refused and answers
-- the gravest cause (chosen), those of them on which it answers all that is wrong (alone), and those on
-- which it is refused.
SELECT
  remedy,
  min(layer) AS layer,
  sum(CASE WHEN chosen THEN 1 ELSE 0 END) AS hosts,
  sum(CASE WHEN chosen AND answers_all THEN 1 ELSE 0 END) AS alone,
  sum(CASE WHEN refused THEN 1 ELSE 0 END) AS refused,
  min(CASE WHEN chosen THEN host END) AS example
FROM remedies
GROUP BY remedy
HAVING sum(CASE WHEN chosen THEN 1 ELSE 0 END) > 0
ORDER BY hosts DESC, remedy
