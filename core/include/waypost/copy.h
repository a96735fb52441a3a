/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file copy.h
 * Moving unfinished work to another store: from a file to a server, say.
 *
 *     wp_copy_new(&copy, source, target, &err);
 *     while (wp_copy_step(&more, copy, &err) == WP_OK && more)
 *         ;
 *
 * Each step moves a page of a queue: it is held in the source, stored in the target and held there, too,
 * read back and compared, deleted in the source, and only then let go in the target. So a message can never
 * be claimed in both stores, nor get lost; a process that dies between any two of these is made good by
 * the next one that moves from that store to this one, which should come soon: what is held meanwhile waits
 * for it. Workers may run in both stores, and apps may go on storing messages in both.
 *
 * Messages of outbox and inbox and timers, dead ones too, keep all that is known of them but their number: ids,
 * keys, headers, payloads, times, attempts. Those with one ordering key are moved together, in their order;
 * one that is stored in the source while others of its key are moved may overtake them, if a worker runs there.
 * The inbox's keys that were done are known in both stores from then on, and what is moved is known as done in the source: what
 * arrives again, in either, is not done again. Keys that were only seen stay.
 * A job is moved with all of its runs that wait or are dead letters, one job a step, if none of its runs is running. It is
 * scheduled in neither store meanwhile; in the target it goes on where it was, with its next instant, and each occurrence makes one
 * run. It keeps its name and id, and whether it is disabled; its runs that are finished stay behind.
 * A join that is not over is moved with its members, with what waits for it, with the other joins of these, and with the messages
 * of their ordering keys: whole, one such group a step, if none of these messages is running. Its counts, its members that are
 * done, its deadline and what it enqueues at its end come along. Until it is deleted in the source it is a join there as ever: what is
 * attached, reported, cancelled, or fails by its deadline meanwhile makes the group stay, to be moved as it is then. In the
 * target there is no such join until it is let go, and a message that is just coming there can be attached to none (WP_E_STATE; on
 * SQL Server it can, and the join may never hear of it). A message that waits for a join is a dead letter where that is not: in the
 * source once it has moved, in the target until it is let go; the topic WP_JOIN_WAIT_TOPIC can be paused there.
 * Joins are moved between SQLite, PostgreSQL and MariaDB.
 * Pauses go along, once. What stays, and is told by wp_copy_count(): what a worker holds; joins of which a message is
 * running; what the target refuses, as it knows its id, key or name, or cannot store it. Leases and semaphores,
 * what is finished, and the history of replays never are moved.
 */
#ifndef WAYPOST_COPY_H
#define WAYPOST_COPY_H

#include <waypost/worker.h>

WP_BEGIN_DECLS

/** One move from a store to another. Not thread-safe. Keeps both stores alive. */
typedef struct wp_copy wp_copy;

/** Begin one; nothing is changed yet.
 * @return WP_OK; WP_E_ARGUMENT: both are the same store. */
WP_API wp_status wp_copy_new(wp_copy **out, wp_store *source, wp_store *target, wp_error **err);
/** How many messages a step moves, 1 to WP_BATCH_MAX (500); more, if they have one ordering key. */
WP_API wp_status wp_copy_set_page(wp_copy *copy, int64_t messages, wp_error **err);
/** Whether dead letters are moved, too (1). */
WP_API wp_status wp_copy_set_dead_letters(wp_copy *copy, int moved, wp_error **err);

/** Count what there is, for wp_copy_count(). Reads only. */
WP_API wp_status wp_copy_look(wp_copy *copy, wp_error **err);
/** Move the next page. After an error it may be called again, or another wp_copy begun: it goes on where
 * this one ended.
 * @param more  0: no more can be moved; what is left was counted
 * @return WP_OK; WP_E_LEASE_LOST: another one moves between these two stores now; WP_E_ARGUMENT: both are the same
 *         store; WP_E_DB: what was stored is not what was read, and was not deleted; what the databases say. */
WP_API wp_status wp_copy_step(int *more, wp_copy *copy, wp_error **err);

/** Give a move up: whatever an earlier one that did not end holds in either store is let go. What the source had
 * deleted stays in the target, and all else in the source, as it was. Moves between the two stores that run in either
 * direction end with WP_E_LEASE_LOST. After an error it may be called again.
 * A move that a version before this function began is not known to have a direction: give it up from the same side.
 * @param let_go  may be NULL; gets how many were held
 * @return as wp_copy_step() */
WP_API wp_status wp_copy_cancel(int64_t *let_go, wp_copy *copy, wp_error **err);

/** What is counted. */
typedef enum wp_copy_kind {
    WP_COPY_MOVED = 0,     /**< by this wp_copy, dead ones too */
    WP_COPY_WAITING = 1,   /**< unfinished, can be moved */
    WP_COPY_DEAD = 2,      /**< dead letters, can be moved; of runs, those that have a job */
    WP_COPY_HELD = 3,      /**< a worker holds it, or a move to or from another store */
    WP_COPY_JOINED = 4,    /**< belongs to a join that is not over, or waits for one */
    WP_COPY_NOT_MOVED = 5, /**< of a queue that is not moved: none by now */
    WP_COPY_REMEMBERED =
        6, /**< of the inbox: keys that were done, and are known in the target now */
    WP_COPY_KINDS = 7
} wp_copy_kind;
/** As it was when it was last counted, of a queue or of WP_SOURCE_ALL: by wp_copy_look(), before the first step and
 * after the last one. */
WP_API int64_t wp_copy_count(const wp_copy *copy, wp_source source, wp_copy_kind kind);
/** How many jobs the source has, as it was when that was last counted. */
WP_API int64_t wp_copy_jobs(const wp_copy *copy);
/** How many jobs were moved by this wp_copy; their runs are counted as WP_COPY_MOVED. */
WP_API int64_t wp_copy_jobs_moved(const wp_copy *copy);
/** How many joins of the source are not over, as it was when that was last counted. */
WP_API int64_t wp_copy_joins(const wp_copy *copy);
/** How many joins were moved by this wp_copy; their messages are counted as WP_COPY_MOVED. */
WP_API int64_t wp_copy_joins_moved(const wp_copy *copy);

/** How many messages, jobs, joins and remembered keys stayed in the last pass, as the target refused them, or a job as one of its
 * runs is running, a join as one of its messages is; they are still in the source, as they were. */
WP_API size_t wp_copy_refused_count(const wp_copy *copy);
/** One of them: its queue and id, a job's name or a join's id, and why. NULL past the end. Borrowed until the next step. */
WP_API const char *wp_copy_refused_at(const wp_copy *copy, size_t index);

/** The checksum of all that this wp_copy moved, as it was read from the source (0) or read back from the target (1):
 * the sum of the SHA-256 of each message, so that their order does not matter. 64 hexadecimal digits; borrowed. */
WP_API const char *wp_copy_checksum(wp_copy *copy, int target);

/** Free it. */
WP_API void wp_copy_free(WP_OWN wp_copy *copy);

WP_END_DECLS

#endif
