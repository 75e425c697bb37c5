import { commandOf } from "../support/deployment-record.ts";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { newRecord } from "../../src/agent/core/records.ts";
import { openSqliteStore as openAgentStore } from "../../src/agent/store/sqlite-store.ts";
import { appendEvent } from "../../src/control-plane/core/event-log.ts";
import { newDeployment } from "../../src/control-plane/core/deployment.ts";
import { receivedEvent } from "../../src/control-plane/core/transitions.ts";
import { openStore } from "../../src/control-plane/store/sqlite/open-store.ts";
import type { Store } from "../../src/control-plane/store/store.ts";
import type { UsageRecord } from "../../src/control-plane/store/usage.ts";
import { parseAppSpec } from "../../src/protocol/apps/app-spec.ts";
import type { DeploymentStep, EventContent } from "../../src/protocol/deployments/deployment-event.ts";
import { auditEntry } from "../../src/control-plane/accounts/audit-entry.ts";
import { someApp, someFacts } from "../support/control-plane/device-samples.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { memoryDir } from "../support/temp-dir.ts";
import type { Bench, Row } from "./result.ts";
import { addAccount, prepareData } from "./service/service.ts";
import { createDeployment, updateDeployment } from "../support/store-deployment.ts";

const START = Date.UTC(2025, 0, 1);
const HOUR_S = 3600;
const DAY_MS = 24 * HOUR_S * 1000;
const YEAR_DAYS = 365;
/** Of each device. They are removed after 90 days on the service, and beyond a number on the device. */
const DAYS_BETWEEN_DEPLOYMENTS = 4;
const KEPT_DAYS = 90;
const APPS = ["web", "broker", "dashboard", "logger"];
const STEPS: readonly DeploymentStep[] = [
  "checking",
  "pulling",
  "pulling",
  "creating",
  "starting",
  "verifying",
  "done",
];

const specOf = (name: string) => ({
  name,
  image: `registry.example.com/team/${name}:1.2`,
  environments: [{ key: "TZ", value: "UTC" }],
  ports: [{ host_port: 30_080, target_port: 80 }],
});

/**
 * Sizes of the databases after a year: 300 gateways, each with a SIM whose usage is imported by the hour and asked for by the day, four
 * apps and a deployment every four days; and of one gateway. What retention removes is not written in the first place.
 */
export const sizesOfAYear: Bench = {
  name: "sizes-of-a-year",
  isOnRequest: true,
  async run({ quick }) {
    await using directory = await memoryDir();
    const devices = quick ? 10 : 300;
    const { database } = await prepareData(directory.path);
    await serverYear(database, devices);
    const agent = join(directory.path, "agent.db");
    await deviceYear(agent);
    const sizes = tableSizes(database);
    const rows: Row[] = [
      { what: `edge-control: database of ${devices} gateways after a year`, value: inMb((await stat(database)).size) },
      ...sizes.map(([name, bytes]) => ({ what: `of it ${name}, with its indexes`, value: inMb(bytes) })),
      { what: "edge-agent: store of a gateway after a year", value: inMb((await stat(agent)).size) },
    ];
    return { data: { devices, server: (await stat(database)).size, agent: (await stat(agent)).size, sizes }, rows };
  },
};

const inMb = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

async function serverYear(database: string, devices: number): Promise<void> {
  await using store = openStore(database);
  const { accountId } = await addAccount(store);
  for (let index = 0; index < devices; index++) {
    const hex = index.toString(16).padStart(12, "0");
    const uuid = `00000000-0000-7000-8000-${hex}`;
    const iccid = `8988307${String(index).padStart(12, "0")}`;
    await store.assets.registerAsset(
      {
        uuid,
        accountId,
        serialNumber: `GW-${index}`,
        name: `GW-${index}`,
        type: "gateway",
        createdAt: START / 1000,
        supersim: { sid: `HS${hex}`, iccid, networkGroup: "default_1gb", status: "active" },
        prosim: undefined,
      },
      Buffer.from(hex),
    );
    await store.usage.recordUsage(hourly(iccid));
    await store.operatorUsage.replaceUsage(
      { assetUuid: uuid, type: "supersim", period: "day" },
      [],
      Array.from({ length: YEAR_DAYS }, (_, day) => ({
        bucket: "default_1gb",
        start: (START + day * DAY_MS) / 1000,
        bytes: 20_000_000,
      })),
      { from: START / 1000, finalUntil: START / 1000, until: START / 1000 + YEAR_DAYS * 86_400, readAtMs: START },
    );
    const apps = APPS.map((name) => someApp(name));
    const value = { hash: hex, apps, device: someFacts() };
    await store.devices.replaceReport(uuid, undefined, { value, at: START / 1000 });
    await deployments(store, accountId, uuid);
  }
}

async function* hourly(iccid: string): AsyncGenerator<UsageRecord> {
  for (let hour = 0; hour < YEAR_DAYS * 24; hour++) {
    const startTime = START / 1000 + hour * HOUR_S;
    yield { iccid, bucket: "default_1gb", startTime, endTime: startTime + HOUR_S, bytes: (hour * 7919) % 1_000_000 };
  }
}

/** Each with its entry in the audit log, which stays for 400 days; the deployments of the last 90 days with their events. */
async function deployments(store: Store, accountId: string, assetUuid: string): Promise<void> {
  for (let day = 0; day < YEAR_DAYS; day += DAYS_BETWEEN_DEPLOYMENTS) {
    const nowMs = START + day * DAY_MS;
    const app = APPS[(day / DAYS_BETWEEN_DEPLOYMENTS) % APPS.length] ?? "web";
    const id = `dep_${assetUuid.slice(-12)}${String(day).padStart(12, "0")}`;
    const origin = { actor: { kind: "key", id: "key_1", name: "operations" }, accountId, source: "192.0.2.1" } as const;
    const entry = auditEntry(origin, new FakeClock(nowMs), {
      action: "deployment.requested",
      assetUuid,
      app,
      subject: { kind: "deployment", id },
    });
    if (day < YEAR_DAYS - KEPT_DAYS) {
      await store.audit.addEntry(entry);
      continue;
    }
    const fresh = newDeployment({
      id,
      accountId,
      assetUuid,
      app,
      command: commandOf("update", specOf(app)),
      options: {},
      hasRegistryAuth: false,
      nowMs,
      timeoutMs: 900_000,
    });
    const first = appendEvent(fresh, receivedEvent(fresh), nowMs)?.event;
    if (!first) throw new Error("no first event");
    await createDeployment(store.deployments, fresh, first, undefined, undefined, undefined, entry);
    for (const step of STEPS)
      await updateDeployment(store.deployments, id, (current) => appendEvent(current, eventOf(step, app), nowMs));
  }
}

function eventOf(step: DeploymentStep, app: string): EventContent {
  if (step === "done") return { status: "Success", step, message: `App ${app} is running.` };
  return { status: "Running", step, message: `Pulling image: 43% (12.3 of 28.5 MB) of ${app}.` };
}

async function deviceYear(path: string): Promise<void> {
  const clock = new FakeClock(START);
  using store = openAgentStore({ path, clock, bootId: "boot" });
  for (let day = 0; day < YEAR_DAYS; day++) {
    const date = new Date(START + day * DAY_MS).toISOString().slice(0, 10);
    const bytes = { sent: 10_000, received: 200_000, overhead: 5_000 };
    const common = { day: date, network: "modem", deployment: "", ...bytes } as const;
    store.ledger.add({
      traffic: [
        { ...common, purpose: "control", app: "" },
        ...APPS.map((app) => ({
          ...common,
          purpose: "pulls" as const,
          app,
          deployment: day % 4 === 0 ? `dep_${day}` : "",
        })),
      ],
      interfaces: ["eth0", "wwan0"].map((name) => ({ day: date, name, sent: 1_000_000, received: 20_000_000 })),
      marks: [],
    });
    if (day % DAYS_BETWEEN_DEPLOYMENTS !== 0) continue;
    const app = APPS[(day / DAYS_BETWEEN_DEPLOYMENTS) % APPS.length] ?? "web";
    const parsed = parseAppSpec(specOf(app));
    if (!parsed.ok) throw parsed.error;
    const id = `dep_${day}`;
    for (const step of STEPS) {
      const record = newRecord(id, day + 1, parsed.spec);
      const deployment = step === "done" ? { ...record, outcome: "succeeded" as const } : record;
      store.save({ deployment, events: [eventOf(step, app)] });
    }
    store.acknowledge(id, STEPS.length);
  }
}

/** Bytes of the largest tables, with their indexes. */
function tableSizes(path: string): readonly (readonly [string, number])[] {
  using database = new DatabaseSync(path);
  const rows = database
    .prepare(
      `SELECT m.tbl_name AS name, sum(d.pgsize) AS bytes FROM dbstat d JOIN sqlite_schema m ON m.name = d.name
       GROUP BY m.tbl_name ORDER BY bytes DESC LIMIT 6`,
    )
    .all();
  return rows.map((row) => [String(row["name"]), Number(row["bytes"])]);
}
