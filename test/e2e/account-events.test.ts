import { afterAll, beforeAll, expect, it } from "vitest";
import type { AccountEvent } from "../../src/protocol/assets/account-event.ts";
import { apiClient } from "../support/api-client.ts";
import { edgectlUser } from "../support/edgectl/process.ts";
import { type EventStream, openStream } from "../support/event-stream.ts";
import { type Account, ControlProcess } from "../support/system/control.ts";
import { tempDir } from "../support/temp-dir.ts";
import { waitFor } from "../support/wait-for.ts";

const KILLS = 4;
/** Assets that are registered at the same time, so that a kill comes in the middle of several. */
const WRITERS = 4;
/** Events that must have been read between two kills. */
const EVENTS_BETWEEN = 40;

const owned = new AsyncDisposableStack();
let control: ControlProcess;
let account: Account;
beforeAll(async () => {
  const directory = owned.use(await tempDir());
  control = owned.use(new ControlProcess(directory.path, []));
  await control.start();
  account = await control.createAccount("events");
});
afterAll(() => owned.disposeAsync());

it("killed under its readers, the service shows each event once to each of them, and leaves out none", async () => {
  const first = await firstId();
  await using user = await edgectlUser("dist/edgectl");
  const env = { EDGECTL_URL: control.url, EDGECTL_API_KEY: account.apiKey };
  await using command = user.start(["events", "--follow", "--json", "--after", first], { env });
  const reader = new Reader(first);
  const reading = reader.run();
  const writing = new Writing();
  const writers = Array.from({ length: WRITERS }, (_, number) => writing.run(number));
  for (let kill = 1; kill <= KILLS; kill++) {
    const { length } = reader.events;
    await waitFor("further events", () => reader.events.length >= length + EVENTS_BETWEEN);
    await control.kill();
    await control.start();
  }
  writing.stop();
  await Promise.all(writers);

  const stored = await registered();
  expect(stored.length).toBeGreaterThanOrEqual(KILLS * EVENTS_BETWEEN);
  expect(stored).toEqual(expect.arrayContaining(writing.confirmed));
  const shown = (): readonly AccountEvent[] =>
    command
      .stdout()
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as AccountEvent)
      .filter(({ type }) => type !== ("hello" as string));
  await waitFor("the reader to have all", () => new Set(assetsOf(reader.events)).size >= stored.length);
  await waitFor("edgectl to have all", () => new Set(assetsOf(shown())).size >= stored.length);
  reader.stop();
  await reading;
  expect(reader.cuts).toBeGreaterThanOrEqual(KILLS);
  for (const events of [reader.events, shown()]) {
    expect(assetsOf(events).toSorted()).toEqual(stored);
    const ids = events.map(({ id }) => Number(id));
    expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => a - b));
  }
  expect(shown()).toEqual(reader.events);
  // It may have had the last event before the last kill.
  const said = (text: string): number => command.stderr().split(text).length - 1;
  await waitFor("edgectl to be connected again", () => said("Connected again") === said("Connection lost"));
  expect(said("Connection lost")).toBeGreaterThan(0);
});

const assetsOf = (events: readonly AccountEvent[]): string[] =>
  events.flatMap((event) => (event.type === "asset.registered" ? [event.asset_id] : []));

/** Id of the last event there is. */
async function firstId(): Promise<string> {
  using stream = await openStream(`${control.url}/v1/events`, account);
  await stream.until("the hello", ({ events }) => events.length > 0);
  return (linesOf(stream)[0] as AccountEvent).id;
}

const linesOf = (stream: EventStream): readonly AccountEvent[] => stream.events as unknown as readonly AccountEvent[];

/** Uuids of all assets, sorted. */
async function registered(): Promise<string[]> {
  const uuids: string[] = [];
  let cursor: string | null = "";
  while (cursor !== null) {
    const query: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const { body } = await apiClient(control, account).get(`/v1/assets?limit=200${query}`);
    uuids.push(...(body["assets"] as readonly { readonly uuid: string }[]).map(({ uuid }) => uuid));
    cursor = (body["next_cursor"] as string | null | undefined) ?? null;
  }
  return uuids.toSorted();
}

/** Reads the events as a program does: takes up after the last complete line when the connection is gone. */
class Reader {
  readonly #received: AccountEvent[] = [];
  #current: EventStream | undefined;
  #isStopped = false;
  #after: string;
  cuts = 0;

  constructor(after: string) {
    this.#after = after;
  }

  get events(): readonly AccountEvent[] {
    return [...this.#received, ...(this.#current ? linesOf(this.#current) : [])];
  }

  async run(): Promise<void> {
    while (!this.#isStopped) {
      const stream = await openStream(`${control.url}/v1/events?after=${this.#after}`, account).catch(() => undefined);
      if (stream?.status !== 200) {
        stream?.[Symbol.dispose]();
        await pause();
        continue;
      }
      this.#current = stream;
      await stream.ended;
      this.cuts += 1;
      this.#received.push(...linesOf(stream));
      this.#current = undefined;
      this.#after = this.#received.at(-1)?.id ?? this.#after;
    }
  }

  stop(): void {
    this.#isStopped = true;
    this.#current?.[Symbol.dispose]();
  }
}

/** Registers assets one after the other, over the restarts of the service. */
class Writing {
  /** Uuids that the service has responded with. */
  readonly confirmed: string[] = [];
  #isStopped = false;

  stop(): void {
    this.#isStopped = true;
  }

  async run(writer: number): Promise<void> {
    for (let number = 0; !this.#isStopped; number++) {
      const body = { serial_number: `W${writer}-${number}`, name: "Gateway", type: "gateway" };
      const response = await apiClient(control, account)
        .post("/v1/assets", body)
        .catch(() => undefined);
      if (response?.status === 201) this.confirmed.push(String(response.body["uuid"]));
      else await pause();
    }
  }
}

/** Before asking again a service that is away. */
function pause(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 20);
  });
}
