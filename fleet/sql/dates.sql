-- When the reports were taken, and how many do not say.
SELECT
  min(taken_at) AS oldest,
  max(taken_at) AS newest,
  count(*) - count(taken_at) AS undated
FROM hosts
