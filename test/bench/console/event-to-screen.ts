import { median } from "../measure.ts";
import type { AccountEvent } from "../../../src/protocol/assets/account-event.ts";
import { openStream, type EventStream } from "../../support/event-stream.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { waitFor } from "../../support/wait-for.ts";
import { atMost, type BenchResult, type Row } from "../result.ts";
import { percentile } from "../service/percentile.ts";
import type { ConsoleRig, OpenedPage } from "./rig.ts";

const MAX_MS = 300;

/** Notes each text that cells of the first row have, and when a frame has shown it, in Unix milliseconds. */
const NOTE_CHANGES = `(() => {
  const seen = globalThis.benchSeen = [];
  const last = {};
  const look = () => {
    const row = document.querySelector('[aria-rowindex="2"]');
    for (const id of ["link", "attention"]) {
      const text = row?.querySelector('[data-column="' + id + '"]')?.textContent ?? "";
      // An age changes by itself.
      const now = text.startsWith("seen") ? "seen" : text;
      if (last[id] === now) continue;
      last[id] = now;
      requestAnimationFrame(() => seen.push({ id, text: now, at: performance.timeOrigin + performance.now() }));
    }
  };
  look();
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true });
})()`;

interface Seen {
  readonly id: string;
  readonly text: string;
  readonly at: number;
}

/**
 * Time from the transaction in which the service commits a change, whose events have its time, to the frame that shows it in
 * the list of all assets. Browser and service have the same clock.
 */
export async function eventToScreen(rig: ConsoleRig, count: number): Promise<BenchResult> {
  const { uuid, token } = await addFirstAsset(rig);
  await using opened = await rig.open();
  using events = await openStream(`${rig.url}/v1/events`, { apiKey: rig.apiKey });
  const watch = new Watch(rig, opened, events);
  await watch.begin(`${rig.url}/assets`);

  const links: number[] = [];
  for (let round = 0; round < count / 2; round++) {
    const device = await FakeDevice.connect(rig.agentUrl, token);
    links.push(await watch.next("device.connected", "link", (text) => text === "connected"));
    await device[Symbol.asyncDispose]();
    links.push(await watch.next("device.disconnected", "link", (text) => text === "seen"));
  }
  await using device = await FakeDevice.connect(rig.agentUrl, token);
  await watch.next("device.connected", "link", (text) => text === "connected");
  const ends: number[] = [];
  for (let round = 0; round < count; round++) {
    const fails = round % 2 === 0;
    await deploy(rig, uuid, device, fails);
    ends.push(await watch.next("deployment.ended", "attention", (text) => text.includes("failed") === fails));
  }
  return {
    data: { links, ends },
    rows: [...rowsOf("device connects or is gone", links), ...rowsOf("deployment ends", ends)],
  };
}

function rowsOf(what: string, times: readonly number[]): Row[] {
  const p99 = percentile(times, 99);
  return [
    {
      what: `console: ${what}, until the list shows it, p99 of ${times.length}`,
      value: `${p99.toFixed(0)} ms`,
      reference: `median: ${median(times).toFixed(0)} ms`,
      target: atMost(MAX_MS, "ms", p99),
    },
  ];
}

/** Registers an asset that is the first of the list. */
async function addFirstAsset(rig: ConsoleRig): Promise<{ readonly uuid: string; readonly token: string }> {
  const response = await fetch(`${rig.url}/v1/assets`, {
    method: "POST",
    headers: { "X-API-Key": rig.apiKey, "Content-Type": "application/json" },
    body: JSON.stringify({ serial_number: "BENCH-LIVE", name: "Live", type: "gateway" }),
  });
  if (response.status !== 201) throw new Error(`no asset was registered: ${await response.text()}`);
  const { uuid, device_token: token } = (await response.json()) as { uuid: string; device_token: string };
  rig.change("UPDATE assets SET created_at = 1 WHERE uuid = ?", uuid);
  // Otherwise it needs attention for that in the first place, and the cell shows nothing else.
  rig.change("UPDATE asset_states SET accepted_at = 1 WHERE asset_uuid = ?", uuid);
  return { uuid, token };
}

async function deploy(rig: ConsoleRig, uuid: string, device: FakeDevice, fails: boolean): Promise<void> {
  const [stream, { deployment_id: id }] = await Promise.all([
    openStream(`${rig.url}/v1/assets/${uuid}/edge/apps`, {
      apiKey: rig.apiKey,
      body: { name: "web", image: "registry.example.com/web:1" },
    }),
    device.next("deploy"),
  ]);
  using _ = stream;
  if (fails) device.event(id, { status: "Fail", step: "done", code: "CrashLoopBackOff", message: "It has stopped." });
  else device.success(id);
  await stream.ended;
}

/** What the page shows beside what the service has committed, one change after the other. */
class Watch {
  readonly #rig: ConsoleRig;
  readonly #opened: OpenedPage;
  readonly #events: EventStream;
  #seen = 0;
  #happened = 0;

  constructor(rig: ConsoleRig, opened: OpenedPage, events: EventStream) {
    this.#rig = rig;
    this.#opened = opened;
    this.#events = events;
  }

  async begin(url: string): Promise<void> {
    const { page } = this.#opened;
    // The list follows the account's events once their stream has begun.
    const [stream] = await Promise.all([page.waitForResponse(/\/v1\/events/), page.goto(url)]);
    await page.getByRole("link", { name: "Live", exact: true }).waitFor();
    if (!stream.ok()) throw new Error(`the page follows no events: ${stream.status()}`);
    await page.evaluate(NOTE_CHANGES);
    await waitFor("the first texts", () => page.evaluate<boolean>("benchSeen.length === 2"));
    this.#seen = 2;
  }

  /** Waits for the next event of this type and for the cell to show it. Returns the milliseconds between. */
  async next(type: string, id: string, isShown: (text: string) => boolean): Promise<number> {
    const found = await waitFor(`${type} on the page`, async () => {
      const all = await this.#opened.page.evaluate<Seen[]>("benchSeen");
      const index = all.findIndex((each, at) => at >= this.#seen && each.id === id && isShown(each.text));
      if (index === -1) return undefined;
      this.#seen = index + 1;
      return all[index];
    });
    const event = await waitFor(`${type} among the events`, () => {
      const all = this.#events.events as unknown as readonly AccountEvent[];
      const index = all.findIndex((each, at) => at >= this.#happened && each.type === type);
      if (index === -1) return undefined;
      this.#happened = index + 1;
      return all[index];
    });
    return found.at - this.#rig.committedAtMs(event.id);
  }
}
