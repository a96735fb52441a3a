// SPDX-License-Identifier: Apache-2.0
// The dashboard's page in a browser: page.mjs URL MODE FOLDER, with PLAYWRIGHT naming its module and TOKEN. MODE is
// "empty" or "full" (what test_dashboard.py has put in). Screenshots go to FOLDER; ends with 1 and says what is wrong.
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const [url, mode, folder] = process.argv.slice(2);
const { chromium } = createRequire(import.meta.url)(process.env.PLAYWRIGHT);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
});
const VIEWS = ["overview", "dead", "running", "timers", "jobs", "leases", "audit"];
const problems = [];

async function opened(width, height, scheme) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme });
  const page = await context.newPage();
  page.setDefaultTimeout(15000);
  page.on("pageerror", (error) => problems.push("error: " + error.message));
  page.on("dialog", (dialog) => { problems.push("a script of a message ran"); dialog.dismiss(); });
  page.on("console", (line) => { if (line.type() === "error" && !/Failed to load resource/.test(line.text())) problems.push("console: " + line.text()); });
  page.on("request", (request) => { if (!request.url().startsWith(url)) problems.push("asked " + request.url()); });
  await page.goto(url);
  await page.locator("#view[data-view=overview]").waitFor();
  return page;
}
async function visit(page, view) {
  await page.locator("#tab-" + view).click();
  await page.locator(`#view[data-view=${view}]`).waitFor();
}

// every view, wide and narrow, light and dark: nothing is wider than the screen
for (const [name, width, height] of [["wide", 1280, 800], ["narrow", 320, 640]])
  for (const scheme of ["light", "dark"]) {
    // of what differs little, some will do
    const some = mode === "empty" ? VIEWS.slice(0, 2) : (name === "wide") === (scheme === "light") ? VIEWS : ["overview", "jobs", "dead"];
    const page = await opened(width, height, scheme);
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), scheme);
    for (const view of some) {
      await visit(page, view);
      const wider = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.equal(wider, 0, `${view} is ${wider} px wider than ${width}`);
      await page.screenshot({ path: `${folder}/${mode}-${view}-${name}-${scheme}.png`, fullPage: true });
    }
    await page.context().close();
  }

const page = await opened(1280, 800, "light");
await page.locator("#theme").click();
assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
await page.reload();
await page.locator("#view[data-view=overview]").waitFor();
assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");

if (mode === "empty") {
  await visit(page, "dead");
  assert.match(await page.locator("#view").innerText(), /no dead letters/);
  assert.equal(await page.locator("#unlock").isHidden(), true, "read-only, and yet it can be unlocked");
} else {
  const row = (text) => page.locator("tbody tr", { hasText: text }).first();
  const confirm = (word) => page.locator("dialog").getByRole("button", { name: word, exact: true }).click();
  // a wrong token is refused, the right one unlocks
  await page.locator("#unlock").click();
  await page.fill("#who", "Ann <b>");
  await page.fill("#token", "not the token at all");
  await confirm("Unlock");
  await page.locator(".notice.bad").waitFor();
  await page.locator("#unlock").click();
  await page.fill("#token", process.env.TOKEN);
  await confirm("Unlock");
  await page.locator("#unlock", { hasText: "Lock" }).waitFor();
  // pause and resume
  await row("mails.send").getByRole("button", { name: "Pause" }).click();
  await confirm("Pause");
  await row("mails.send").getByRole("button", { name: "Resume" }).waitFor();
  await page.screenshot({ path: `${folder}/full-paused.png` });
  await row("mails.send").getByRole("button", { name: "Resume" }).click();
  await confirm("Resume");
  await row("mails.send").getByRole("button", { name: "Pause" }).waitFor();
  // a dead letter whose payload and topic are markup: shown as text, edited, replayed
  await visit(page, "dead");
  await row("<img src=x").getByRole("button", { name: "Show" }).click();
  assert.match(await page.locator("#payload").innerText(), /<script>alert\(1\)<\/script>/);
  assert.equal(await page.locator("dialog script, #view img").count(), 0);
  await page.screenshot({ path: `${folder}/full-message.png` });
  await confirm("Edit");
  await page.fill("#edit", "{\"fixed\": true}");
  await page.screenshot({ path: `${folder}/full-edit.png` });
  await confirm("Save");
  await page.locator(".notice", { hasText: "1 changed" }).first().waitFor();
  await row("<img src=x").getByRole("button", { name: "Show" }).click();
  assert.equal(await page.locator("#payload").innerText(), "{\"fixed\": true}");
  await confirm("Replay");
  await confirm("Replay");
  await page.locator("tbody tr", { hasText: "<img src=x" }).first().waitFor({ state: "detached" });
  // line ends, of which a field has one kind
  await row("ends.0").getByRole("button", { name: "Show" }).click();
  await confirm("Edit");
  await page.fill("#edit", (await page.locator("#edit").inputValue()).replace("a", "A"));
  await confirm("Save");
  await page.locator(".notice", { hasText: "1 changed" }).first().waitFor();
  await row("ends.1").getByRole("button", { name: "Show" }).click();
  await confirm("Edit");
  await page.getByText("Its lines end in different ways").waitFor();
  assert.equal(await page.locator("#edit").count(), 0);
  await confirm("Close");
  // discard, but not without a yes
  const before = await page.locator("tbody tr").count();
  await row("orders.paid").getByRole("button", { name: "Show" }).click();
  await confirm("Discard");
  await page.locator("dialog").getByRole("button", { name: "Cancel" }).click();
  assert.equal(await page.locator("tbody tr").count(), before);
  await page.fill("input[name=reason]", "card");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => [...document.querySelectorAll("tbody tr")].every((tr) => tr.textContent.includes("card")));
  await page.fill("input[name=reason]", "nothing has this reason");
  await page.keyboard.press("Enter");
  await page.getByText("There are no dead letters.").waitFor();
  // jobs
  await visit(page, "jobs");
  await row("nightly").getByRole("button", { name: "Pause" }).click();
  await confirm("Pause");
  await row("nightly").getByRole("button", { name: "Resume" }).waitFor();
  await visit(page, "audit");
  const audit = await page.locator("#view").innerText();
  for (const what of ["topic.pause", "topic.resume", "dead.edit", "dead.replay", "job.pause", "Ann <b>"])
    assert.ok(audit.includes(what), "the audit lacks " + what);
  assert.ok(!audit.includes("dead.purge"));
  // the token is nowhere that stays
  assert.ok(!(await page.evaluate(() => JSON.stringify(localStorage) + JSON.stringify(sessionStorage) + document.cookie + location.href)).includes(process.env.TOKEN));
}
await browser.close();
assert.deepEqual(problems, []);
