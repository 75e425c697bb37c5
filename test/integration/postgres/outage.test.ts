import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { CommandClient } from "../../../src/control-plane/store/postgres/command-client.ts";
import { openPostgresStore } from "../../../src/control-plane/store/postgres/open-store.ts";
import { StoreOutageLog } from "../../../src/control-plane/store/outage-log.ts";
import { watchedStore } from "../../../src/control-plane/store/watched-store.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { captureLogText, type CapturedLog } from "../../support/captured-log.ts";
import { type ControlPlane, startControlPlane, type TestAccount, type TestAsset } from "../../support/control-plane.ts";
import { openStream } from "../../support/event-stream.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { type PostgresServer, postgresUnavailableReason } from "../../support/postgres.ts";
import { PostgresDatabases } from "../../support/postgres-store.ts";
import { waitFor } from "../../support/wait-for.ts";

const reason = await postgresUnavailableReason();

describe.skipIf(reason !== undefined)(`loss of PostgreSQL${reason === undefined ? "" : ` (${reason})`}`, () => {
  let server: PostgresServer;
  let database: string;
  let control: ControlPlane;
  let log: CapturedLog;
  let account: TestAccount;
  let asset: TestAsset;

  beforeEach(async () => {
    // What was answered must be there after a crash of the server.
    const databases = await PostgresDatabases.start({ isDurable: true });
    onTestFinished(() => databases[Symbol.asyncDispose]());
    ({ server } = databases);
    database = (await databases.take()).options.database;
    log = captureLogText();
    control = await startControlPlane({
      logger: log.logger,
      config: { ack_timeout_s: 600 },
      openStore: async () =>
        watchedStore(
          await openPostgresStore({ ...server.options(database), poolMax: 3 }),
          new StoreOutageLog(systemClock, log.logger),
        ),
    });
    account = await control.account();
    asset = await control.asset(account);
  });
  afterEach(() => control[Symbol.asyncDispose]());

  interface Fault {
    /** Makes the database unusable. Returns what ends that. */
    begin(): Promise<() => Promise<void>>;
  }

  const FAULTS: Readonly<Record<string, Fault>> = {
    "stopped as in a crash, and started again": {
      async begin() {
        await server.stop("immediate");
        return () => server.restart();
      },
    },
    "paused: it answers nothing, and its connections stay": {
      async begin() {
        await server.pause();
        return () => server.resume();
      },
    },
    "with every connection of the pool in use": {
      async begin() {
        const holder = await CommandClient.connect(server.options(database));
        await holder.query("BEGIN");
        await holder.query("LOCK TABLE api_keys, assets, deployments, device_sessions IN ACCESS EXCLUSIVE MODE");
        return async () => {
          await holder.query("ROLLBACK");
          await holder[Symbol.asyncDispose]();
        };
      },
    },
  };

  test.each(Object.keys(FAULTS))("%s", async (name) => {
    const path = `${control.url}/v1/assets/${asset.uuid}`;
    const get = () => fetch(path, { headers: { "X-API-Key": account.apiKey } });
    await using device = await FakeDevice.connect(control.agentUrl, asset.deviceToken);
    const deploy = { apiKey: account.apiKey, body: { name: "web", image: "web:1" } };
    using stream = await openStream(`${path}/edge/apps`, deploy);
    const { deployment_id: id } = await device.next("deploy");
    device.event(id, { step: "pulling", message: "Pulling." });
    await device.next("event_ack");
    const end = await FAULTS[name]?.begin();
    // More than the pool has connections for.
    const refused = await Promise.all(Array.from({ length: 10 }, get));
    expect(refused.map(({ status, headers }) => [status, headers.get("retry-after")])).toEqual(
      Array.from({ length: 10 }, () => [503, "5"]),
    );
    using refusedStream = await openStream(`${path}/edge/apps`, deploy);
    await refusedStream.ended;
    expect([refusedStream.status, refusedStream.events.map(({ code }) => code)]).toEqual([503, ["ServiceUnavailable"]]);
    device.success(id);
    await device.flushed();
    await end?.();
    await waitFor("a response", async () => (await get()).status === 200);
    await stream.ended;
    const { events } = stream;
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_event, index) => index + 1));
    expect(events.map(({ message }) => message).slice(-2)).toEqual(["Pulling.", "The app runs."]);
    await waitFor(
      "the acknowledgements",
      () => device.received.filter(({ type }) => type === "event_ack").length === 2,
    );
    expect(device.received.filter(({ type }) => type === "deploy")).toHaveLength(1);
    await waitFor("readiness", async () => (await fetch(`${control.url}/readyz`)).status === 200);
    const errors = log
      .text()
      .split("\n")
      .filter((line) => line.includes('"level":50'));
    const messages = errors.map((line) => (JSON.parse(line) as { msg: string }).msg);
    expect(messages.filter((message) => message.startsWith("the database cannot be reached"))).toHaveLength(1);
    // A lease that has lapsed may be said as well, but nothing for each call.
    expect(new Set(messages).size).toBe(messages.length);
  });
});
