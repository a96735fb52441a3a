-- 0014_locks: many locks of one statement stay locks of rows. A lock of the whole table, which the server takes instead from 5,000 on, would be waited for by claims, which pass rows. The procedures are made anew.
ALTER TABLE {outbox} SET (LOCK_ESCALATION = DISABLE);
GO
ALTER TABLE {inbox} SET (LOCK_ESCALATION = DISABLE);
GO
ALTER TABLE {Timers} SET (LOCK_ESCALATION = DISABLE);
GO
ALTER TABLE {JobRuns} SET (LOCK_ESCALATION = DISABLE);
GO
ALTER TABLE {JoinMember} SET (LOCK_ESCALATION = DISABLE);
GO
ALTER TABLE {CopyItem} SET (LOCK_ESCALATION = DISABLE);
