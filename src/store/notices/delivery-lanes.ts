/** Receivers that share slots: the operator's own; those of accounts; and those of them that failed last. */
export type Lane = 'operator' | 'well' | 'troubled'

/** Receivers of one account that are sent to at once. */
const ACCOUNT_MOST = 2

/**
 * Channels with a message that is due, and their lanes. `?`: now (four times), the most of each lane. A message that
 * failed before stays pending, so its channel is troubled until it is taken or dead.
 */
export const DUE_CHANNELS = `
  WITH waiting AS (
    SELECT d.channel_id AS channel_id, MIN(d.due_at) AS due, MAX(d.lease_until) AS lease, MAX(d.attempts) AS attempts
    FROM notice_delivery d WHERE d.state = 'pending' GROUP BY d.channel_id),
  placed AS (
    SELECT w.channel_id AS channel_id, w.due AS due, CASE WHEN w.lease >= ? THEN 1 ELSE 0 END AS busy,
      CASE WHEN c.account_id IS NULL THEN 'operator' WHEN w.attempts > 0 THEN 'troubled' ELSE 'well' END AS lane,
      ROW_NUMBER() OVER (PARTITION BY COALESCE(c.account_id, c.id) ORDER BY CASE WHEN w.lease >= ? THEN 0 ELSE 1 END, w.due) AS of_account
    FROM waiting w JOIN notice_channel c ON c.id = w.channel_id WHERE w.due <= ? OR w.lease >= ?),
  ranked AS (
    SELECT channel_id, lane, due, ROW_NUMBER() OVER (PARTITION BY lane ORDER BY due) AS of_lane
    FROM placed WHERE busy = 0 AND of_account <= ${ACCOUNT_MOST})
  SELECT channel_id, lane FROM ranked WHERE of_lane <= ? ORDER BY due`
