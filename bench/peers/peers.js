// SPDX-License-Identifier: Apache-2.0
// A peer on a database of its own: peers.js PEER URL throughput|latency COUNT
// PEER: graphile (graphile-worker, which deletes finished jobs), graphile-kept (the same, with a trigger
// that keeps them, as pg-boss and Waypost do) or pgboss.
// Settings are those that its documentation, or its own benchmark, gives for throughput. Prints JSON:
// throughput: the rates at which jobs were added and worked off; latency: the quantiles in ms, from
// before a job is sent to the start of its handler, one at a time.
import pg from "pg";

const [peer, url, mode, countText] = process.argv.slice(2);
const count = Number(countText);
const payload = { order: 4711, note: "x".repeat(275) };
const slice = 1000;
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

let handled = 0;
let onHandled = () => {};
const handle = (jobs) => {
  handled += jobs;
  onHandled();
};

// What its users write to keep finished jobs: one insert for each batch that is deleted.
const keepFinished = `
  CREATE TABLE finished (id bigint PRIMARY KEY, payload json NOT NULL, attempts smallint NOT NULL,
                         created_at timestamptz NOT NULL, finished_at timestamptz NOT NULL DEFAULT now());
  CREATE FUNCTION keep_finished() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO finished (id, payload, attempts, created_at) SELECT id, payload, attempts, created_at FROM gone;
    RETURN NULL;
  END $$;
  CREATE TRIGGER keep_finished AFTER DELETE ON graphile_worker._private_jobs
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION keep_finished();`;

// Each peer: prepare, add(n) in one transaction, send one, start, await the end of what was handled, stop.
const graphile = async (keep) => {
  const { run, makeWorkerUtils } = await import("graphile-worker");
  const quiet = new (await import("graphile-worker")).Logger(() => () => {});
  const pool = new pg.Pool({ connectionString: url, max: 25 });
  pool.on("error", (error) => console.error(error));
  pool.on("connect", (client) => client.on("error", (error) => console.error(error)));
  const utils = await makeWorkerUtils({ pgPool: pool, logger: quiet });
  await utils.migrate();
  if (keep) await pool.query(keepFinished);
  let runner;
  return {
    add: (n) => utils.addJobs(Array.from({ length: n }, () => ({ identifier: "bench", payload }))),
    send: () => utils.addJob("bench", payload),
    // As in its own perfTest/.
    start: async () => {
      runner = await run({
        pgPool: pool,
        logger: quiet,
        noHandleSignals: true,
        preset: {
          worker: {
            concurrentJobs: 24,
            maxPoolSize: 25,
            localQueue: { size: 500, refetchDelay: { durationMs: 10 } },
            completeJobBatchDelay: 0,
            failJobBatchDelay: 0,
          },
        },
        taskList: { bench: () => handle(1) },
      });
    },
    left: "SELECT count(*) AS n FROM graphile_worker._private_jobs",
    stop: async () => {
      await runner?.stop();
      await utils.release();
      await pool.end();
    },
  };
};

const pgboss = async () => {
  const { PgBoss } = await import("pg-boss");
  const boss = new PgBoss({ connectionString: url, max: 10, useListenNotify: true, queueCacheIntervalSeconds: 1 });
  boss.on("error", (error) => console.error(error));
  await boss.start();
  await boss.createQueue("bench", { notify: mode === "latency" });
  return {
    add: (n) => boss.insert("bench", Array.from({ length: n }, () => ({ data: payload }))),
    send: () => boss.send("bench", payload),
    start: () =>
      mode === "latency"
        ? boss.work("bench", { pollingIntervalSeconds: 0.5 }, async (jobs) => handle(jobs.length))
        : boss.work(
            "bench",
            { batchSize: 500, localConcurrency: 4, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 },
            async (jobs) => handle(jobs.length),
          ),
    // Finished jobs are kept, as completed.
    left: "SELECT count(*) AS n FROM pgboss.job WHERE name = 'bench' AND state < 'completed'",
    stop: () => boss.stop({ graceful: false }),
  };
};

const throughput = async (queue, admin) => {
  let started = performance.now();
  for (let done = 0; done < count; done += slice) await queue.add(Math.min(slice, count - done));
  const added = (count / (performance.now() - started)) * 1000;
  await admin.query("VACUUM ANALYZE");
  started = performance.now();
  const all = new Promise((done) => {
    onHandled = () => handled >= count && done();
  });
  await queue.start();
  await all;
  while (Number((await admin.query(queue.left)).rows[0].n) > 0) await sleep(2);
  return { added, rate: (count / (performance.now() - started)) * 1000 };
};

const latency = async (queue) => {
  await queue.start();
  await sleep(3000); // it listens
  const values = [];
  for (let i = 0; i < count; i++) {
    let at = 0;
    const seen = new Promise((done) => {
      onHandled = () => {
        at = performance.now();
        done();
      };
    });
    const sent = performance.now();
    await queue.send();
    await seen;
    values.push(at - sent);
    await sleep(10);
  }
  values.sort((a, b) => a - b);
  return { p50: values[Math.floor(count * 0.5)], p99: values[Math.floor(count * 0.99)] };
};

const admin = new pg.Client({ connectionString: url });
await admin.connect();
const queue = await { graphile: () => graphile(false), "graphile-kept": () => graphile(true), pgboss }[peer]();
const result = await { throughput, latency }[mode](queue, admin);
console.log(JSON.stringify(result));
await queue.stop();
await admin.end();
process.exit(0);
