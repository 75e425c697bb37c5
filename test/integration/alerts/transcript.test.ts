import { readFileSync } from "node:fs";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { AlertStage, type StagedDevice } from "../../support/alerts/alert-stage.ts";
import type { Receipt } from "../../support/alerts/receivers.ts";
import { tablesOf } from "../../support/repo/markdown.ts";

/*
 * What people get, by the real server: devices over WebSockets, webhooks whose signatures are verified, mails over SMTP, and the forms of
 * the other channels. docs/alerts.md shows the table of these tests.
 */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const START = Date.UTC(2027, 0, 15, 10);

type Row = readonly [what: string, channel: string, messages: string, when: string];
const rows: Row[] = [];
/** Tests that have passed. */
let finished = 0;

async function start(startMs = START): Promise<AlertStage> {
  const stage = await AlertStage.start(startMs);
  onTestFinished(async () => {
    await stage[Symbol.asyncDispose]();
    expect(stage.receivers.problems).toEqual([]);
  });
  return stage;
}

const after = (receipt: Receipt | undefined, sinceMs: number): number => (receipt?.atMs ?? NaN) - sinceMs;

/** Takes what has arrived out of the receivers, by channel. */
function taken({ receivers }: AlertStage): ReadonlyMap<string, readonly Receipt[]> {
  return Map.groupBy(receivers.receipts.splice(0), ({ channel }) => channel);
}

test("one device, and 400 of a carrier together: one message to each channel, and one at the end", async () => {
  const stage = await start();
  const { url } = stage.receivers;
  const everyKind = ["hook", "mail", "slack", "mattermost", "teams", "v2", "ntfy"];
  await stage.configure({
    routes: { all: { channels: everyKind.map((name) => (name === "v2" ? "pager" : name)) } },
    channels: {
      hook: { kind: "webhook", url: `${url}/webhook/hook` },
      mail: { kind: "email", to: ["ops@example.com"] },
      slack: { kind: "slack", url: `${url}/chat/slack` },
      mattermost: { kind: "mattermost", url: `${url}/chat/mattermost` },
      teams: { kind: "teams", url: `${url}/teams` },
      pager: { kind: "pagerduty", routing_key: "R0", url: `${url}/v2/pager` },
      ntfy: { kind: "ntfy", url: `${url}/edge`, token: "tk_ntfy" },
    },
  });
  const carrier = await stage.devices(400, { carrier: "north" });
  const [one] = await stage.devices(1);
  const told = async (what: string, sinceMs: number, expected: RegExp): Promise<void> => {
    const byChannel = taken(stage);
    expect(byChannel.size).toBe(everyKind.length);
    for (const receipts of byChannel.values()) expect(receipts).toHaveLength(1);
    expect(byChannel.get("hook")?.[0]?.text).toMatch(expected);
    expect(byChannel.get("mail")?.[0]?.text).toMatch(expected);
    const latest = Math.max(...[...byChannel.values()].flat().map((receipt) => after(receipt, sinceMs)));
    expect(latest).toBeLessThanOrEqual(5_000);
    rows.push([what, "each of the seven kinds", "1", "within 5 s"]);
    await stage.pass(5 * MINUTE);
    expect(taken(stage).size).toBe(0);
  };

  await one?.unplug();
  let heldMs = stage.clock.now() + 30 * MINUTE;
  await stage.pass(30 * MINUTE + 10_000, 20_000);
  await told("a device is unplugged for 30 min", heldMs, /Device offline: GW-401$/);
  await one?.plugIn();
  heldMs = stage.clock.now();
  await stage.pass(10_000, 10_000);
  await told("it is back", heldMs, /Resolved: Device offline: GW-401$/);

  heldMs = stage.clock.now() + 30 * MINUTE;
  await loseInParts(stage, carrier);
  const lostMs = stage.clock.now();
  await stage.pass(30 * MINUTE - (lostMs - heldMs + 30 * MINUTE) + 10_000, 20_000);
  await told("400 devices of a carrier are lost within a minute", heldMs, /Device offline: 400 assets \(GW-/);
  await Promise.all(carrier.map((device) => device.plugIn()));
  heldMs = stage.clock.now();
  await stage.pass(10_000, 10_000);
  await told("they are back", heldMs, /Resolved: Device offline: 400 assets/);
  finished++;
});

/** A tenth of the devices every five seconds. */
async function loseInParts(stage: AlertStage, devices: readonly StagedDevice[]): Promise<void> {
  const size = devices.length / 10;
  for (let at = 0; at < devices.length; at += size) {
    await Promise.all(devices.slice(at, at + size).map((device) => device.unplug()));
    await stage.pass(5_000);
  }
}

test("a device that connects every minute for a day is one alert, which says that it flaps", async () => {
  const stage = await start();
  const { url } = stage.receivers;
  await stage.configure({
    routes: { all: { channels: ["hook"] } },
    channels: { hook: { kind: "webhook", url: `${url}/webhook/hook` } },
  });
  const [device] = await stage.devices(1);
  for (let connections = 0; connections < DAY / MINUTE; connections++) {
    await device?.unplug();
    await stage.pass(20_000);
    await device?.plugIn();
    await stage.pass(40_000);
  }
  const texts = () => stage.receivers.of("hook").map(({ text }) => text);
  expect(texts()).toEqual(["Device flapping: GW-1"]);
  expect(after(stage.receivers.of("hook")[0], START)).toBeLessThanOrEqual(15 * MINUTE);
  await stage.pass(3 * HOUR);
  expect(texts()).toEqual(["Device flapping: GW-1", "Resolved: Device flapping: GW-1"]);
  const calmMs = after(stage.receivers.of("hook")[1], START + DAY);
  expect(calmMs).toBeLessThanOrEqual(3 * HOUR);
  rows.push(["a device connects every minute for a day", "each", "1, and 1 at the end", "within 15 min"]);
  finished++;
});

test("quiet hours, a silence, and an acknowledgement by the API", async () => {
  const stage = await start(Date.UTC(2027, 0, 15, 21, 45));
  const { url } = stage.receivers;
  const quiet = { from: "22:00", to: "06:00", time_zone: "UTC", except_critical: false };
  await stage.configure({
    routes: {
      duty: { channels: ["duty"], repeat_s: 3600 },
      office: { channels: ["office"], quiet_hours: quiet },
    },
    channels: {
      duty: { kind: "webhook", url: `${url}/webhook/duty` },
      office: { kind: "webhook", url: `${url}/webhook/office` },
    },
  });
  const [first, second] = await stage.devices(2);
  const texts = (channel: string) => stage.receivers.of(channel).map(({ text }) => text);

  await first?.unplug();
  await stage.pass(4 * HOUR + 10_000);
  expect(texts("duty")).toEqual(["Device offline: GW-1", ...Array<string>(3).fill("Still: Device offline: GW-1")]);
  rows.push(["a device is gone from 21:45, repeated every hour", "on duty", "1, then 1 an hour", "22:15"]);
  // As the page does that the link leads to.
  const group = stage.receivers.groupIds[0] ?? "";
  const acknowledged = await stage.api.post(`/v1/alert-groups/${group}/acknowledge`);
  expect(acknowledged.body).toEqual({ acknowledged: 1 });
  expect(texts("office")).toEqual([]);
  await stage.pass(Date.UTC(2027, 0, 16, 6, 1) - stage.clock.now());
  expect(texts("duty")).toHaveLength(4);
  rows.push(["it is acknowledged at 01:45", "on duty", "none any more", "until it is back"]);
  // An operator looks after it: the office need not be told.
  expect(texts("office")).toEqual([]);
  rows.push(["the same", "the office, quiet from 22:00 to 06:00", "none", "an operator has it"]);
  await first?.plugIn();
  await stage.pass(5_000, 5_000);
  expect(texts("duty").at(-1)).toBe("Resolved: Device offline: GW-1");
  taken(stage);

  await stage.pass(Date.UTC(2027, 0, 16, 22) - stage.clock.now());
  await second?.unplug();
  await stage.pass(Date.UTC(2027, 0, 17, 5, 59) - stage.clock.now());
  expect(texts("office")).toEqual([]);
  await stage.pass(70_000, 20_000);
  expect(texts("office")).toEqual(["Device offline: GW-2"]);
  expect(after(stage.receivers.of("office")[0], Date.UTC(2027, 0, 17, 6))).toBeLessThanOrEqual(5_000);
  rows.push(["another one is gone from 22:00, not acknowledged", "the office", "1", "06:00"]);
  await second?.plugIn();
  await stage.pass(MINUTE);
  taken(stage);

  const until = Math.floor((stage.clock.now() + 2 * HOUR) / 1000);
  const silenced = await stage.api.post("/v1/silences", { reason: "Works at the pump", until });
  expect(silenced.status).toBe(201);
  await first?.unplug();
  await stage.pass(until * 1000 - stage.clock.now() - 10_000);
  expect([texts("duty"), texts("office")]).toEqual([[], []]);
  await stage.pass(20_000, 20_000);
  for (const channel of ["duty", "office"]) {
    expect(texts(channel)).toEqual(["Device offline: GW-1"]);
    expect(after(stage.receivers.of(channel)[0], until * 1000)).toBeLessThanOrEqual(5_000);
  }
  rows.push(["a device is gone while all is silenced for two hours", "each", "1", "at the end of the silence"]);
  finished++;
});

test("a channel that hangs, one that answers 500 for a day, one for days", async () => {
  const stage = await start();
  const { url } = stage.receivers;
  const names = ["works", "hangs", "broken", "dead"];
  await stage.configure({
    routes: { all: { channels: names, repeat_s: 6 * 3600 } },
    channels: Object.fromEntries(names.map((name) => [name, { kind: "webhook", url: `${url}/webhook/${name}` }])),
  });
  stage.hanging.add("hangs");
  let isBroken = true;
  stage.receivers.answer = (channel) => {
    if (channel === "hangs") return "hang";
    return channel === "dead" || (channel === "broken" && isBroken) ? 500 : 200;
  };
  const of = (channel: string): readonly Receipt[] => stage.receivers.of(channel);
  const [device] = await stage.devices(1);
  await device?.unplug();
  const heldMs = stage.clock.now() + 30 * MINUTE;
  await stage.pass(30 * MINUTE + 10_000, 20_000);
  expect(of("works")).toHaveLength(1);
  expect(after(of("works")[0], heldMs)).toBeLessThanOrEqual(5_000);
  rows.push(["channels do not work", "one that works", "1", "within 5 s"]);

  await stage.pass(heldMs + 23 * HOUR - stage.clock.now());
  isBroken = false;
  const attempts = of("broken");
  const [{ id: firstId } = { id: "" }] = attempts;
  const first = attempts.filter(({ id }) => id === firstId);
  const pauses = first.slice(1).map(({ atMs }, at) => atMs - (first[at]?.atMs ?? 0));
  expect(first.length).toBeGreaterThan(20);
  expect(Math.max(...pauses)).toBeLessThanOrEqual(75 * MINUTE);
  // What follows waits until the first one has arrived, or is given up.
  expect(new Set(attempts.map(({ id }) => id)).size).toBe(1);
  await stage.pass(2 * HOUR);
  const ids = [...new Set(of("broken").map(({ id }) => id))];
  expect(ids.length).toBe(new Set(of("works").map(({ id }) => id)).size);
  rows.push([
    "the same",
    "one that answers 500 for 23 h",
    "each, under its id, in order",
    "within 72 min of its first 200",
  ]);

  await stage.pass(heldMs + 3 * DAY + 2 * HOUR - stage.clock.now());
  const told = of("works").find(({ text }) => text.includes("Channel of alerts disabled"));
  expect(after(told, heldMs)).toBeGreaterThanOrEqual(3 * DAY);
  await stage.pass(12 * HOUR);
  const given = [of("hangs"), of("dead")].map((receipts) => after(receipts.at(-1), heldMs));
  expect(Math.max(...given)).toBeLessThanOrEqual(3 * DAY + 2 * HOUR);
  for (const name of ["hangs", "dead"]) {
    expect(of("works").some(({ text }) => text.includes("Channel of alerts disabled") && text.includes(name))).toBe(
      true,
    );
    const { body } = await stage.api.get(`/v1/alert-deliveries?channel=${name}&limit=100`);
    const deliveries = body["deliveries"] as { state: string; answer: string }[];
    expect(new Set(deliveries.map(({ state }) => state))).toEqual(new Set(["failed"]));
  }
  rows.push([
    "the same",
    "one that answers 500 for three days, one that never answers",
    "none any more",
    "which the others tell",
  ]);
  // The one that works got each once.
  const worked = of("works").map(({ id }) => id);
  expect(worked).toHaveLength(new Set(worked).size);
  finished++;
});

afterAll(() => {
  console.log(rows.map((row) => `| ${row.join(" | ")} |`).join("\n"));
  const page = tablesOf(readFileSync("docs/alerts.md", "utf8")).find(({ header }) => header[0] === "what happens");
  const shown = page?.rows.map((row) => row.join(" | "));
  expect(shown).toEqual(expect.arrayContaining(rows.map((row) => row.join(" | "))));
  // One of the tests alone has fewer.
  if (finished === 4) expect(shown).toHaveLength(rows.length);
});
