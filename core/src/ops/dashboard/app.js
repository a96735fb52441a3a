// SPDX-License-Identifier: Apache-2.0
// The dashboard's page. What comes from the API is only ever put in as text.
"use strict";

const POLL_MS = 2000, SLOW_MS = 5000, SAMPLES = 450; // a quarter of an hour
const $ = (id) => document.getElementById(id);
let session = { writable: false, trusted: false, payloads: false };
let token = "", who = "", view = "overview", overview = null, timer = 0, looking = 0;
const samples = []; // {at, ready, busy, oldest, done, retried, dead}
const where = {}; // of each view: filters, and the places of the pages before

// ---- the browser's memory ------------------------------------------------------------------

const kept = {
  get(name) { try { return localStorage.getItem("waypost." + name) || ""; } catch { return ""; } },
  set(name, value) { try { localStorage.setItem("waypost." + name, value); } catch { /* it may be off */ } },
};

function paint(theme) {
  const dark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}

// ---- elements ------------------------------------------------------------------------------

// el("td.n", {title: "..."}, children...): text is text, never markup.
function el(name, ...children) {
  const [tag, ...classes] = name.split(".");
  const node = document.createElement(tag);
  if (classes.length) node.className = classes.join(" ");
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (typeof child === "object" && !(child instanceof Node)) {
      for (const [key, value] of Object.entries(child)) {
        if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
        else if (value !== false) node.setAttribute(key, value === true ? "" : String(value));
      }
    } else node.append(child);
  }
  return node;
}

function notice(text, bad) {
  const node = el(bad ? "div.notice.bad" : "div.notice", text);
  $("notices").append(node);
  setTimeout(() => node.remove(), bad ? 9000 : 4000);
}

const button = (text, does, kind) =>
  el(kind ? "button." + kind : "button", { type: "button", onclick: does }, text);

// ---- how things are told -------------------------------------------------------------------

const count = (n) => Number(n).toLocaleString("en");
const some = (n) => (n ? count(n) : "");
function time(us) {
  if (us === null || us === undefined) return "";
  const at = new Date(us / 1000);
  return isNaN(at) ? String(us) : at.toISOString().replace("T", " ").slice(0, 19);
}
function span(us) {
  const s = Math.abs(us) / 1e6;
  if (us === 0) return "0";
  if (s < 1) return Math.round(s * 1000) + " ms";
  if (s < 120) return s.toFixed(s < 10 ? 1 : 0) + " s";
  if (s < 7200) return Math.round(s / 60) + " min";
  return s < 172800 ? Math.round(s / 3600) + " h" : Math.round(s / 86400) + " d";
}
const TONES = { dead: "bad", failed: "bad", "timed out": "bad", succeeded: "good", done: "good",
  up: "good", running: "warn", "in progress": "warn", paused: "warn" };
const badge = (text) => el("span.badge" + (TONES[text] ? "." + TONES[text] : ""), text);

// ---- the API -------------------------------------------------------------------------------

async function ask(path, args, body) {
  const url = new URL("api/" + path, location.href);
  for (const [key, value] of Object.entries(args || {}))
    if (value !== "" && value !== null && value !== undefined) url.searchParams.set(key, value);
  const headers = {};
  if (token) headers.Authorization = "Bearer " + token;
  if (body) { headers["Content-Type"] = "application/json"; headers["X-Waypost"] = "1"; }
  const response = await fetch(url, { method: body ? "POST" : "GET", headers,
    body: body ? JSON.stringify(body) : undefined, credentials: "omit", redirect: "error" });
  let answer = null;
  try { answer = await response.json(); } catch { /* told below */ }
  if (!response.ok) throw new Error(answer && answer.error ? answer.error : "HTTP " + response.status);
  return answer;
}

const store = () => ($("store").value ? { store: $("store").value } : {});

// ---- the dialog ----------------------------------------------------------------------------

// Show it; resolves to what was pressed, or null.
function open(title, parts, ends) {
  const form = $("dialog-form");
  form.replaceChildren(el("h2", title), ...parts, el("div.ends", ...ends));
  return new Promise((done) => {
    $("dialog").onclose = () => done($("dialog").returnValue || null);
    $("dialog").returnValue = "";
    $("dialog").showModal();
  });
}
const close = (text, value, kind) =>
  el(kind ? "button." + kind : "button", { value, type: "submit" }, text);

async function unlock() {
  if (token) {
    token = "";
    await begin();
    return false;
  }
  const field = el("input", { type: "password", autocomplete: "off", required: true, id: "token" });
  const name = el("input", { value: who, maxlength: 100, required: true, id: "who", autocomplete: "username" });
  const pressed = await open("Unlock", [
    el("p.muted", "The token of the option dashboard.token. It is forgotten when this page is left."),
    el("label", "Your name, for the audit", name), el("label", "Token", field),
  ], [close("Unlock", "yes", "main"), button("Cancel", () => $("dialog").close())]);
  if (pressed !== "yes") return false;
  token = field.value;
  who = name.value.trim();
  kept.set("who", who);
  try { await begin(); } catch (error) { token = ""; notice(error.message, true); await begin(); }
  return session.trusted;
}

// Ask whether it is meant, do it, and show what is there then.
async function change(path, body, title, text, word, kind) {
  body = { ...store(), ...body }; // the one that is shown now, also if another one is chosen meanwhile
  if (!session.trusted && !(await unlock())) return false;
  if ((await open(title, [el("p", text)], [close(word, "yes", kind || "main"),
    button("Cancel", () => $("dialog").close())])) !== "yes") return false;
  return send(path, body);
}
// 1: it is done; 0: nothing was changed; null: it failed.
async function send(path, body) {
  try {
    const answer = await ask(path, {}, { ...store(), by: who, ...body });
    notice(answer.run ? "Run " + answer.run : count(answer.changed) + " changed");
    show();
    return answer.run || answer.changed > 0 ? 1 : 0;
  } catch (error) {
    notice(error.message, true);
    return null;
  }
}

// ---- plots ---------------------------------------------------------------------------------

const SVG = "http://www.w3.org/2000/svg";
function svg(name, attributes, ...children) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}
function plot(title, lines, tell) {
  const broad = Math.min(innerWidth, 1280);
  const W = innerWidth < 720 ? Math.max(230, innerWidth - 42) : innerWidth < 1060 ? broad / 2 - 56 : broad / 3 - 56, H = 150, left = 46, right = 6, top = 8, bottom = 20;
  const last = samples.length ? samples[samples.length - 1].at : 0;
  const first = samples.length ? samples[0].at : 0;
  const length = Math.max(last - first, 60000);
  let most = 0;
  for (const line of lines) for (const s of samples) most = Math.max(most, line.of(s) || 0);
  most = most || 1;
  const x = (at) => left + (1 - (last - at) / length) * (W - left - right);
  const y = (v) => H - bottom - (v / most) * (H - top - bottom);
  const root = svg("svg", { class: "plot", viewBox: `0 0 ${W} ${H}`, preserveAspectRatio: "none", role: "img", "aria-label": title });
  for (const part of [0, 0.5, 1]) {
    root.append(svg("line", { class: "axis", x1: left, x2: W - right, y1: y(most * part), y2: y(most * part) }));
    root.append(svg("text", { x: left - 6, y: y(most * part) + 4, "text-anchor": "end" }, tell(most * part)));
  }
  root.append(svg("text", { x: left, y: H - 5 }, "−" + span(length * 1000)));
  root.append(svg("text", { x: W - right, y: H - 5, "text-anchor": "end" }, "now"));
  lines.forEach((line, i) => {
    let path = "";
    for (const s of samples) {
      const v = line.of(s);
      if (v === null) continue;
      path += (path ? "L" : "M") + x(s.at).toFixed(1) + " " + y(v).toFixed(1);
    }
    root.append(svg("path", { class: "c" + (i + 1), d: path || "M0 0", "vector-effect": "non-scaling-stroke" }));
  });
  return el("section.card", el("h2", title), root, el("div.legend",
    ...lines.map((line, i) => el("span", el("i.c" + (i + 1)), line.name))));
}

function sample(o) {
  const s = { at: Date.now(), ready: 0, busy: 0, oldest: 0, done: null, retried: null, dead: null, counters: o.counters };
  let up = false;
  for (const each of o.stores) for (const queue of Object.values(each.queues || {})) {
    up = true;
    for (const t of queue.topics) {
      s.ready += t.ready;
      s.busy += t.inProgress;
      s.oldest = Math.max(s.oldest, t.oldestUs);
    }
  }
  if (!up) s.ready = s.busy = s.oldest = null;
  const before = samples[samples.length - 1];
  if (before && s.at > before.at) {
    const rate = (name) => Math.max(0, (o.counters[name] - before.counters[name]) / ((s.at - before.at) / 1000));
    s.done = rate("acked");
    s.retried = rate("abandoned");
    s.dead = rate("failed");
  }
  samples.push(s);
  if (samples.length > SAMPLES) samples.shift();
}

// ---- tables --------------------------------------------------------------------------------

// columns: [label, class, cell(item)]
function table(columns, items, none) {
  if (!items.length) return el("p.empty", none);
  return el("div.scroll", el("table.rows",
    el("thead", el("tr", ...columns.map(([label, kind]) => el(kind === "n" ? "th.n" : "th", label)))),
    el("tbody", ...items.map((item) => el("tr", ...columns.map(([label, kind, cell]) => {
      const inside = cell(item);
      return el("td" + (kind ? "." + kind : ""), { "data-label": label },
        ...(Array.isArray(inside) ? inside : [inside === null || inside === undefined ? "" : inside]));
    }))))));
}

// A list in pages: `next` is what the API gives to go on with, by the name `key`.
function pages(key, answer) {
  const place = where[view];
  const go = (back) => {
    if (back) place.stack.pop(); else place.stack.push(answer.next);
    show();
  };
  place.key = key;
  const bar = el("div.bar");
  if (place.stack.length) bar.append(button("Back", () => go(true)));
  if (answer.next) bar.append(button("More", () => go(false)));
  return bar;
}
const at = (key) => {
  const place = where[view] || (where[view] = { stack: [], filter: {} });
  return place.stack.length ? { [key]: place.stack[place.stack.length - 1] } : {};
};
const filter = () => (where[view] || (where[view] = { stack: [], filter: {} })).filter;
function filters(...fields) {
  const form = el("form.bar", { onsubmit: (event) => {
    event.preventDefault();
    for (const [name] of fields) filter()[name] = form.elements[name].value.trim();
    where[view].stack = [];
    if (form.contains(document.activeElement)) document.activeElement.blur(); // or the list would stay as it is
    show();
  } });
  for (const [name, label, choices] of fields)
    form.append(choices
      ? el("select", { name, "aria-label": label, onchange: () => form.requestSubmit() }, ...choices.map(([value, text]) =>
        el("option", { value, selected: (filter()[name] || "") === value }, text)))
      : el("input", { name, placeholder: label, "aria-label": label, value: filter()[name] || "" }));
  if (fields.some(([, , choices]) => !choices)) form.append(el("button", { type: "submit" }, "Filter"));
  return form;
}
const QUEUES = [["", "all queues"], ["outbox", "outbox"], ["inbox", "inbox"], ["timers", "timers"], ["jobs", "jobs"]];

// ---- a message -----------------------------------------------------------------------------

async function message(item) {
  let m;
  try { m = await ask("message", { ...store(), queue: item.queue, id: item.id }); }
  catch (error) { notice(error.message, true); return; }
  const facts = [["id", m.id], ["queue", m.queue], ["topic", m.topic], ["status", m.status], ["attempt", m.attempt],
    ["created", time(m.createdUs)], ["due", time(m.dueUs)], ["next attempt", time(m.nextAttemptUs)],
    ["leased until", time(m.lockedUntilUs)], ["finished", time(m.finishedUs)], ["by", m.finishedBy],
    ["ordering key", m.orderingKey], ["correlation id", m.correlationId], ["headers", m.headers],
    ["last error", m.lastError], ["payload", count(m.payloadBytes) + " bytes"]];
  const parts = [el("dl", ...facts.filter(([, v]) => v !== null && v !== undefined && v !== "")
    .flatMap(([k, v]) => [el("dt", k), el("dd", String(v))]))];
  parts.push(m.hidden ? el("p.muted", "Payloads are shown to who has the token.") : el("pre", { id: "payload" }, m.payload));
  if (m.cut) parts.push(el("p.muted", "This is its beginning."));
  const ends = [];
  if (m.status === "dead" && session.writable) {
    ends.push(close("Replay", "replay", "main"));
    if (!m.hidden && !m.cut) ends.push(close("Edit", "edit"));
    ends.push(close("Discard", "discard", "danger"));
  }
  const pressed = await open("Message", parts, [...ends, close("Close", "")]);
  if (pressed === "edit") edit(m);
  else if (pressed) deadChange(pressed, [m]);
}

async function edit(m) {
  const here = store();
  if (!session.trusted && !(await unlock())) return;
  // The field knows "\n" alone.
  const crlf = m.payload.includes("\r");
  const back = (text) => crlf ? text.replaceAll("\n", "\r\n") : text;
  if (back(m.payload.replaceAll("\r\n", "\n")) !== m.payload) {
    await open("Edit the payload of " + m.topic, [el("p", "Its lines end in different ways, which a browser's field cannot keep. " +
      "Edit it by the API, dead/edit, or from a program.")], [close("Close", "", "main")]);
    return;
  }
  const field = el("textarea", { id: "edit", spellcheck: "false", "aria-label": "Payload" });
  field.value = m.payload;
  const pressed = await open("Edit the payload of " + m.topic, [field,
    el("p.muted", "The message keeps its id and stays dead until it is replayed. The old payload is lost.")],
  [close("Save", "yes", "main"), close("Save and replay", "replay"), button("Cancel", () => $("dialog").close())]);
  if (!pressed) return;
  if (await send("dead/edit", { ...here, queue: m.queue, id: m.id, payload: back(field.value) }) && pressed === "replay")
    send("dead/replay", { ...here, queue: m.queue, ids: [m.id] });
}

function deadChange(what, items) {
  const body = { queue: items.length === 1 ? items[0].queue : undefined, ids: items.map((m) => m.id) };
  const n = items.length === 1 ? "this dead letter of " + items[0].topic : items.length + " dead letters";
  return what === "replay"
    ? change("dead/replay", body, "Replay", "Make " + n + " ready again, with no attempts?", "Replay")
    : change("dead/discard", body, "Discard", "Delete " + n + " for ever?", "Discard", "danger");
}

// ---- views ---------------------------------------------------------------------------------

const topicButton = (id, queue, t) => t.isPaused
  ? button("Resume", () => change("topic/resume", { store: id, queue, topic: t.topic }, "Resume", "Let workers handle " + t.topic + " of the " + queue + " again?", "Resume"))
  : button("Pause", () => change("topic/pause", { store: id, queue, topic: t.topic }, "Pause", "Have all workers leave " + t.topic + " of the " + queue + " alone?", "Pause"));

const views = {
  overview: ["Overview", async () => {
    const o = overview;
    const sum = (name) => o.stores.reduce((a, s) => a + Object.values(s.queues || {}).reduce((b, q) => b + q.topics.reduce((c, t) => c + t[name], 0), 0), 0);
    const now = samples[samples.length - 1];
    const number = (value, label, bad) => el(bad ? "div.number.bad" : "div.number", el("b", value), el("span", label));
    const out = [el("div.numbers",
      number(count(sum("ready")), "ready"), number(count(sum("inProgress")), "in progress"),
      number(count(sum("scheduled")), "scheduled"), number(count(sum("blocked")), "blocked"),
      number(count(sum("paused")), "paused"), number(count(sum("stale")), "stale", sum("stale") > 0),
      number(now.oldest === null ? "–" : span(now.oldest), "oldest ready"),
      number(count(o.handlers), "handlers busy"))];
    out.push(el("div.grid",
      plot("Depth", [{ name: "ready", of: (s) => s.ready }, { name: "in progress", of: (s) => s.busy }], (v) => count(Math.round(v * 10) / 10)),
      plot("This worker, a second", [{ name: "done", of: (s) => s.done }, { name: "retried", of: (s) => s.retried }, { name: "dead", of: (s) => s.dead }], (v) => v.toFixed(v < 10 ? 1 : 0)),
      plot("Oldest ready", [{ name: "age", of: (s) => s.oldest }], (v) => span(v))));
    for (const s of o.stores) {
      let pausedTopics = [];
      if (s.up) try { pausedTopics = (await ask("paused", { store: s.id })).items; } catch { /* told by the store */ }
      const rows = Object.entries(s.queues || {}).flatMap(([queue, q]) => {
        const known = q.topics.map((t) => ({ ...t, queue, isPaused: pausedTopics.some((p) => p.queue === queue && p.topic === t.topic) }));
        for (const p of pausedTopics)
          if (p.queue === queue && !known.some((t) => t.topic === p.topic))
            known.push({ queue, topic: p.topic, ready: 0, scheduled: 0, inProgress: 0, blocked: 0, paused: 0, stale: 0, oldestUs: 0, isPaused: true });
        return known;
      });
      out.push(el("section.card",
        el("h2", s.id + " ", el("span.muted", s.engine || ""), " ", s.up ? badge("up") : el("span.badge.bad", "down")),
        s.error ? el("p.bad", s.error) : null,
        s.up ? table([["queue", "", (t) => t.queue], ["topic", "t", (t) => [t.topic, " ", t.isPaused ? badge("paused") : ""]],
          ["ready", "n", (t) => some(t.ready)], ["in progress", "n", (t) => some(t.inProgress)], ["scheduled", "n", (t) => some(t.scheduled)],
          ["blocked", "n", (t) => some(t.blocked)], ["paused", "n", (t) => some(t.paused)], ["stale", "n", (t) => some(t.stale)],
          ["oldest", "n", (t) => t.oldestUs ? span(t.oldestUs) : ""],
          ["", "do", (t) => session.writable && $("store").value === s.id ? topicButton(s.id, t.queue, t) : ""]], rows, "Nothing waits.") : null));
    }
    return out;
  }],
  running: ["Running", async () => {
    const here = (await ask("running")).items;
    const f = filter();
    const answer = await ask("unfinished", { ...store(), queue: f.queue || "outbox", topic: f.topic, ...at("after") });
    return [
      el("section.card", el("h2", "Handlers of this worker"), table([["topic", "t", (d) => d.topic], ["queue", "", (d) => d.queue], ["store", "", (d) => d.store],
        ["attempt", "n", (d) => d.attempt], ["for", "n", (d) => span(d.forUs)], ["id", "t", (d) => d.id]], here, "No handler is busy.")),
      el("section.card", el("h2", "Unfinished messages"), filters(["queue", "Queue", QUEUES.slice(1)], ["topic", "Topic"]),
        messages(answer.items, "There are none."), pages("after", answer))];
  }],
  timers: ["Timers", async () => {
    const answer = await ask("timers", { ...store(), topic: filter().topic, ...at("after") });
    return [el("section.card", el("h2", "Timers"), filters(["topic", "Topic"]), table([["topic", "t", (m) => m.topic], ["fires", "when", (m) => time(m.nextAttemptUs || m.dueUs)],
      ["status", "", (m) => badge(m.status)], ["attempt", "n", (m) => m.attempt], ["correlation id", "t", (m) => m.correlationId],
      ["", "do", (m) => button("Show", () => message(m))]], answer.items, "No timer waits."), pages("after", answer))];
  }],
  jobs: ["Jobs", async () => {
    const answer = await ask("jobs", { ...store(), ...at("after") });
    const job = filter().job;
    const runs = await ask("runs", { ...store(), job });
    return [el("section.card", el("h2", "Jobs"), table([["job", "t", (j) => j.name], ["schedule", "t", (j) => j.expression ? j.expression + " " + (j.zone || "") : "once"],
      ["next", "when", (j) => j.enabled ? time(j.nextDueUs) : badge("paused")], ["last", "when", (j) => time(j.lastDueUs)],
      ["status", "", (j) => j.lastStatus ? badge(j.lastStatus) : ""], ["took", "n", (j) => j.lastDurationUs ? span(j.lastDurationUs) : ""],
      ["", "do", (j) => [button("Runs", () => { filter().job = j.name; show(); }), " ",
        session.writable ? (j.enabled
          ? button("Pause", () => change("job/pause", { job: j.name }, "Pause", "Let " + j.name + " get no more runs by its schedule?", "Pause"))
          : button("Resume", () => change("job/resume", { job: j.name }, "Resume", "Let the schedule of " + j.name + " go on?", "Resume"))) : "", " ",
        session.writable ? button("Run now", () => change("job/trigger", { job: j.name }, "Run now", "Make a run of " + j.name + " now?", "Run")) : ""]]],
    answer.items, "There are no jobs."), pages("after", answer)),
    el("section.card", el("h2", job ? "Runs of " + job + " " : "Latest runs ", job ? button("All", () => { filter().job = ""; show(); }) : null),
      table([["job", "t", (r) => r.job], ["due", "when", (r) => time(r.dueUs)], ["status", "", (r) => badge(r.status)], ["started", "when", (r) => time(r.startedUs)],
        ["took", "n", (r) => r.endedUs && r.startedUs ? span(r.endedUs - r.startedUs) : ""], ["attempt", "n", (r) => r.attempt],
        ["output or error", "t", (r) => r.error || r.output]], runs.items, "There were no runs."))];
  }],
  leases: ["Leases", async () => {
    const shared = filter().kind === "semaphores";
    const answer = await ask("leases", { ...store(), kind: filter().kind, ...at("after") });
    return [el("section.card", el("h2", "Leases and semaphores"), filters(["kind", "Kind", [["", "leases"], ["semaphores", "semaphores"]]]),
      table([["name", "t", (l) => l.name], ["held", "", (l) => shared ? count(l.holders) + " of " + count(l.limit) : l.holders ? badge("held") : "free"],
        ["owner", "t", (l) => l.owner], ["until", "when", (l) => time(l.untilUs)]], answer.items, "There are none."), pages("after", answer))];
  }],
  dead: ["Dead letters", async () => {
    const f = filter();
    const args = { ...store(), queue: f.queue, topic: f.topic, reason: f.reason };
    const answer = await ask("dead", { ...args, ...at("after") });
    const all = (what) => change("dead/" + what, { queue: f.queue || undefined, topic: f.topic || undefined, reason: f.reason || undefined, all: true },
      what === "replay" ? "Replay all" : "Discard all",
      (what === "replay" ? "Replay" : "Delete for ever") + " all dead letters " + (f.queue || f.topic || f.reason ? "that the filter lets through" : "of this store") + ", up to 1,000?",
      what === "replay" ? "Replay" : "Discard", what === "replay" ? "main" : "danger");
    return [el("section.card", el("h2", "Dead letters"), filters(["queue", "Queue", QUEUES], ["topic", "Topic"], ["reason", "Reason"]),
      session.writable && answer.items.length ? el("div.bar", button("Replay all", () => all("replay")), button("Discard all", () => all("discard"), "danger")) : null,
      table([["topic", "t", (m) => m.topic], ["queue", "", (m) => m.queue], ["died", "when", (m) => time(m.finishedUs)], ["attempts", "n", (m) => m.attempt],
        ["reason", "t", (m) => m.lastError], ["", "do", (m) => [button("Show", () => message(m)), " ",
          session.writable ? button("Replay", () => deadChange("replay", [m])) : ""]]], answer.items, "There are no dead letters."), pages("after", answer))];
  }],
  audit: ["Audit", async () => {
    const answer = await ask("audit", { ...store(), ...at("before") });
    return [el("section.card", el("h2", "Audit"), table([["when", "when", (a) => time(a.atUs)], ["who", "t", (a) => a.by], ["what", "", (a) => a.action],
      ["queue", "", (a) => a.queue], ["of", "t", (a) => a.subject], ["", "t", (a) => a.detail]], answer.items, "Nobody has changed anything by hand."), pages("before", answer))];
  }],
};

function messages(items, none) {
  return table([["topic", "t", (m) => m.topic], ["status", "", (m) => badge(m.status)], ["due", "when", (m) => time(m.nextAttemptUs || m.dueUs)],
    ["attempt", "n", (m) => m.attempt], ["last error", "t", (m) => m.lastError], ["", "do", (m) => button("Show", () => message(m))]], items, none);
}

// ---- going round ---------------------------------------------------------------------------

function tell(text, tone) {
  $("state").textContent = text;
  $("state").className = "badge " + tone;
}

async function look() {
  overview = await ask("overview");
  sample(overview);
  $("worker").textContent = overview.worker + " · " + overview.version + " · times are UTC";
  const ids = overview.stores.map((s) => s.id);
  const select = $("store");
  if ([...select.options].map((o) => o.value).join("\n") !== ids.join("\n")) {
    const chosen = select.value;
    select.replaceChildren(...ids.map((id) => el("option", { value: id, selected: id === chosen }, id)));
    select.hidden = ids.length < 2;
  }
  const down = overview.stores.filter((s) => !s.up).length;
  tell(!overview.running ? "stopped" : down ? down + " of " + ids.length + " down" : "running", !overview.running || down ? "bad" : "good");
}

async function show() {
  const wanted = view, turn = ++looking;
  clearTimeout(timer);
  try {
    await look();
    const parts = await views[wanted][1]();
    // what somebody is typing into, or reads, is not taken away
    const busy = $("dialog").open || (document.activeElement && document.activeElement.closest("form.bar input"));
    if (turn === looking && !(busy && $("view").dataset.view === wanted && $("view").childElementCount)) {
      $("view").replaceChildren(...parts.filter(Boolean));
      $("view").dataset.view = wanted;
    }
  } catch (error) {
    tell("no answer", "bad");
    if (turn === looking && (!$("view").childElementCount || $("view").dataset.view !== wanted)) {
      $("view").replaceChildren(el("section.card", el("p.bad", error.message)));
      $("view").dataset.view = "";
    }
  }
  if (turn === looking) timer = setTimeout(show, wanted === "overview" ? POLL_MS : SLOW_MS);
}

function go(name) {
  view = views[name] ? name : "overview";
  where[view] = where[view] || { stack: [], filter: {} };
  $("tabs").replaceChildren(...Object.entries(views).map(([key, [label]]) =>
    el("button", { type: "button", role: "tab", id: "tab-" + key, "aria-selected": key === view ? "true" : "false",
      onclick: () => { location.hash = key; } }, label)));
  if (document.activeElement && document.activeElement.blur) document.activeElement.blur();
  $("tab-" + view).scrollIntoView({ block: "nearest", inline: "nearest" });
  show();
}

async function begin() {
  session = await ask("session");
  $("unlock").hidden = !session.writable;
  $("unlock").textContent = session.trusted ? "Lock" : "Unlock";
  go(location.hash.slice(1) || view);
}

who = kept.get("who");
paint(kept.get("theme"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => paint(kept.get("theme")));
$("theme").addEventListener("click", () => {
  kept.set("theme", document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  paint(kept.get("theme"));
});
$("unlock").addEventListener("click", () => { unlock().catch((error) => notice(error.message, true)); });
$("store").addEventListener("change", () => { for (const place of Object.values(where)) place.stack = []; show(); });
addEventListener("hashchange", () => go(location.hash.slice(1)));
begin().catch((error) => { tell("no answer", "bad"); notice(error.message, true); go("overview"); });
