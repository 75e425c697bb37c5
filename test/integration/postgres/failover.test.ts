import dns from "node:dns";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { StoreOutageLog } from "../../../src/control-plane/store/outage-log.ts";
import { openPostgresStore } from "../../../src/control-plane/store/postgres/open-store.ts";
import { watchedStore } from "../../../src/control-plane/store/watched-store.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { captureLogText, type CapturedLog } from "../../support/captured-log.ts";
import { type ControlPlane, startControlPlane, type TestAccount, type TestAsset } from "../../support/control-plane.ts";
import { openStream } from "../../support/event-stream.ts";
import { PostgresServer, postgresUnavailableReason } from "../../support/postgres.ts";
import { PostgresDatabases } from "../../support/postgres-store.ts";
import { ReturningDevice } from "../../support/system/returning-device.ts";
import { waitFor } from "../../support/wait-for.ts";

const reason = await postgresUnavailableReason();
const NAME = "database.example.test";

describe.skipIf(reason !== undefined)(`failover of PostgreSQL${reason === undefined ? "" : ` (${reason})`}`, () => {
  let original: PostgresServer;
  let copy: PostgresServer;
  let control: ControlPlane;
  let log: CapturedLog;
  let account: TestAccount;
  let asset: TestAsset;
  let database: string;
  /** What the name of the database resolves to. */
  let address: string;

  beforeEach(async () => {
    const databases = await PostgresDatabases.start({ isDurable: true });
    onTestFinished(() => databases[Symbol.asyncDispose]());
    original = databases.server;
    ({ address } = original);
    const { options } = await databases.take();
    ({ database } = options);
    copy = await PostgresServer.copyOf(original, "127.0.0.2");
    onTestFinished(() => copy[Symbol.asyncDispose]());
    const resolve = dns.lookup as (...args: unknown[]) => void;
    const lookup = vi.spyOn(dns, "lookup").mockImplementation((host: string, ...args: unknown[]) => {
      resolve(host === NAME ? address : host, ...args);
    });
    onTestFinished(() => lookup.mockRestore());
    log = captureLogText();
    control = await startControlPlane({
      logger: log.logger,
      config: { ack_timeout_s: 600 },
      openStore: async () =>
        watchedStore(
          await openPostgresStore({ ...options, host: NAME, poolMax: 3 }),
          new StoreOutageLog(systemClock, log.logger),
        ),
    });
    onTestFinished(() => control[Symbol.asyncDispose]());
    account = await control.account();
    asset = await control.asset(account);
  });

  const get = (path: string) => fetch(`${control.url}${path}`, { headers: { "X-API-Key": account.apiKey } });
  const stream = () => {
    const body = { name: "web", image: "web:1" };
    return openStream(`${control.url}/v1/assets/${asset.uuid}/edge/apps`, { apiKey: account.apiKey, body });
  };
  const statusOf = async (id: string) => (await get(`/v1/assets/${asset.uuid}/edge/deployments/${id}`)).status;

  /** The server is lost, the copy takes its place, and the name leads to it. */
  async function failOver(): Promise<void> {
    await original.stop("immediate");
    expect((await get(`/v1/assets/${asset.uuid}`)).status).toBe(503);
    await copy.promote();
    ({ address } = copy);
    await waitFor("a response", async () => (await get(`/v1/assets/${asset.uuid}`)).status === 200);
    await waitFor("the instance to serve the copy", () => log.text().includes("it joins again"));
  }

  /** A device that connects again by itself, as it is asked to, and works for longer than the failover takes. */
  function returningDevice(): ReturningDevice {
    const device = new ReturningDevice({
      url: control.agentUrl,
      deviceToken: asset.deviceToken,
      eventMs: 3_000,
      runningEvents: 3,
    });
    onTestFinished(() => device[Symbol.asyncDispose]());
    return device;
  }

  type Stream = Awaited<ReturnType<typeof stream>>;
  const idOf = ({ events }: Stream): string => events[0]?.deployment_id ?? "";
  const workOf = ({ events }: Stream): string[] =>
    events.map(({ message }) => message).filter((message) => message.startsWith("Working"));

  test("with synchronous replication everything that was answered is there, and deployments go on", async () => {
    await original.requireCopy();
    const device = returningDevice();
    await waitFor("the device", () => device.isConnected);
    const streams = await Promise.all(Array.from({ length: 6 }, stream));
    onTestFinished(() => {
      for (const each of streams) each[Symbol.dispose]();
    });
    for (const each of streams) await waitFor("an event of the device", () => workOf(each).length > 0);
    await failOver();
    for (const each of streams) expect(await statusOf(idOf(each))).toBe(200);
    for (const each of streams) {
      await each.ended;
      expect(each.events.map(({ seq }) => seq)).toEqual(each.events.map((_event, index) => index + 1));
      expect(workOf(each)).toEqual([1, 2, 3].map((part) => `Working, part ${part}.`));
      expect(each.events.at(-1)?.status).toBe("Success");
    }
    expect(device.cancelled).toEqual([]);
  });

  test("with asynchronous replication what the copy had not received is lost, and the service goes on", async () => {
    const device = returningDevice();
    await waitFor("the device", () => device.isConnected);
    using kept = await stream();
    await waitFor("an event of the device", () => workOf(kept).length > 0);
    const inCopy = `SELECT count(*) FROM deployments WHERE id = '${idOf(kept)}'`;
    await waitFor("the copy to have it", async () => (await copy.execute(inCopy, database)) === "1");
    await copy.execute("ALTER SYSTEM SET primary_conninfo = ''");
    await copy.execute("SELECT pg_reload_conf()");
    await waitFor("the copy to follow no more", async () => {
      return (await copy.execute("SELECT count(*) FROM pg_stat_wal_receiver")) === "0";
    });
    using lost = await stream();
    await waitFor("an event", () => lost.events.length > 0);
    expect(await statusOf(idOf(lost))).toBe(200);
    await failOver();
    expect([await statusOf(idOf(kept)), await statusOf(idOf(lost))]).toEqual([200, 404]);
    await lost.ended;
    await kept.ended;
    expect(kept.events.at(-1)?.status).toBe("Success");
    expect(device.cancelled).not.toContain(idOf(kept));
  });
});
