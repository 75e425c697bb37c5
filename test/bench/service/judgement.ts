import { randomBytes, randomUUID } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { applySchema } from "../../../src/protocol/apps/apply.ts";
import type { AppReport } from "../../../src/protocol/apps/app-report.ts";
import { parseSelector } from "../../../src/protocol/fleets/selector.ts";
import type { DeviceReport } from "../../../src/control-plane/core/device-report.ts";
import { type Fleet, goalOf, type RevisionContent } from "../../../src/control-plane/core/fleets/fleet.ts";
import { judgeMember, type MemberGoal } from "../../../src/control-plane/core/fleets/judge-member.ts";
import { type FleetScope, judgeAssets } from "../../../src/control-plane/fleets/judge-assets.ts";
import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { someApp } from "../../support/control-plane/device-samples.ts";
import { someFleet } from "../../support/control-plane/fleets.ts";
import { someAudit } from "../../support/control-plane/people.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { atMost, type Bench, type BenchResult, inMilliseconds } from "../result.ts";
import { addAccount, prepareData } from "./service.ts";

const APPS = ["web", "db", "cache"];
const BATCH = 200;
const TIME = { now: 1_800_000_000, serviceNowMs: 0 };
const NOW_MS = TIME.now * 1000;
const MAX_ALL_MS = 2_000;
const MAX_ONE_MS = 0.1;

/**
 * Processor time to judge the members of a fleet when its revision changes: all of them are read with their reports, judged and
 * stored as outdated. Beside it a program that only reads the same reports, compares two fields of each app, and writes a word to each row.
 */
export const judgement: Bench = {
  name: "judgement",
  async run({ quick }) {
    const devices = quick ? 500 : 10_000;
    await using owner = new AsyncDisposableStack();
    const { database: path } = await prepareData(owner.use(await tempDir()).path);
    const store = owner.use(openStore(path));
    const { accountId } = await addAccount(store);
    const fleet = someFleet({ accountId, apps: APPS, stableRevision: 1, selector: "*" });
    await store.fleets.createFleet(fleet, someAudit("fleet.created"));
    await addDevices(store, fleet, devices);
    const goals = new Map([1, 2].map((revision) => [revision, goalOfRevision(fleet.name, revision)]));
    const selector = parseSelector("*");
    if (!selector.ok) throw new Error(selector.reason);
    const scopeOf = (stableRevision: number): FleetScope => ({
      fleet: { ...fleet, stableRevision },
      selector: selector.terms,
      goalOf: (revision) => goals.get(revision),
    });
    await judgeAll(store, accountId, scopeOf(1));
    expectCounts(await store.members.countStates(fleet.id), { current: devices });

    const unchangedMs = await used(() => judgeAll(store, accountId, scopeOf(1)));
    const allMs = await used(() => judgeAll(store, accountId, scopeOf(2)));
    expectCounts(await store.members.countStates(fleet.id), { outdated: devices });
    const referenceMs = await reference(path, devices);
    const marked = reportOf(fleet.name, true);
    const unmarked = reportOf(fleet.name, false);
    const oneMs = await judgeOne(scopeOf(1), marked);
    const oldMs = await judgeOne(scopeOf(1), unmarked);
    return result(devices, { allMs, unchangedMs, referenceMs, oneMs, oldMs });
  },
};

function result(
  devices: number,
  times: Record<"allMs" | "unchangedMs" | "referenceMs" | "oneMs" | "oldMs", number>,
): BenchResult {
  const { allMs, unchangedMs, referenceMs, oneMs, oldMs } = times;
  const reference = `reading the reports and writing a word to each row: ${inMilliseconds(referenceMs)}`;
  const what = `edge-control: ${devices} members judged and stored after a change of revision, processor time`;
  return {
    data: { devices, ...times },
    rows: [
      {
        what,
        value: inMilliseconds(allMs),
        reference,
        ratio: allMs / referenceMs,
        target: atMost(MAX_ALL_MS, "ms", allMs),
      },
      {
        what: "the same without a change",
        value: inMilliseconds(unchangedMs),
        reference,
        ratio: unchangedMs / referenceMs,
      },
      { what: `edge-control: one report of ${APPS.length} apps judged, processor time`, ...oneReport(oneMs) },
      { what: "the same of a device that does not know fleets", ...oneReport(oldMs) },
    ],
  };
}

const oneReport = (ms: number) => ({ value: `${ms.toFixed(4)} ms`, target: atMost(MAX_ONE_MS, "ms", ms) });

async function addDevices(store: Store, { name, accountId }: Fleet, devices: number): Promise<void> {
  const report = { hash: "a", apps: reportOf(name, true), device: undefined };
  for (let from = 0; from < devices; from += BATCH) {
    const numbers = Array.from({ length: Math.min(BATCH, devices - from) }, (_, index) => from + index);
    await Promise.all(numbers.map((number) => addDevice(store, accountId, number, report)));
  }
}

async function addDevice(store: Store, accountId: string, number: number, report: DeviceReport): Promise<void> {
  const uuid = randomUUID();
  const asset = {
    uuid,
    accountId,
    serialNumber: `GW-${number}`,
    name: `Gateway ${number}`,
    type: "gateway",
    createdAt: 1,
  };
  const registered = { ...asset, supersim: undefined, prosim: undefined };
  await store.assets.registerAsset(registered, randomBytes(32), undefined, true);
  await store.devices.replaceReport(uuid, undefined, { value: report, at: TIME.now });
}

const imageOf = (name: string, revision: number): string =>
  `registry.example.com/team/${name}@sha256:${String(revision).padStart(64, "0")}`;

const ENVIRONMENTS = Array.from({ length: 10 }, (_, index) => ({ key: `SETTING_${index}`, value: "***" }));
const fieldsOf = (name: string, revision: number) => ({
  name,
  image: imageOf(name, revision),
  environments: ENVIRONMENTS,
  ports: [{ host_port: 30_080 + APPS.indexOf(name), target_port: 80 }],
  volumes: [{ local: `/var/lib/${name}`, target: "/data" }],
});

/** What a device reports that runs revision 1. */
function reportOf(fleet: string, isMarked: boolean): AppReport[] {
  const mark = { name: fleet, revision: 1, deployment_id: "dep_1", is_changed: false };
  return APPS.map((name) => {
    const spec = fieldsOf(name, 1);
    return someApp(name, { image: spec.image, spec, state: "running", ...(isMarked && { fleet: mark }) });
  });
}

function goalOfRevision(fleet: string, revision: number): MemberGoal {
  const apps = APPS.map((name) => ({ app: fieldsOf(name, revision) }));
  const content: RevisionContent = applySchema.parse({ project: fleet, apps });
  return { goal: goalOf(fleet, revision, content), variables: [] };
}

/** As `MemberJudge` does. */
async function judgeAll(store: Store, accountId: string, scope: FleetScope): Promise<void> {
  for (let after: string | undefined; ;) {
    const page = await store.members.listAssets(TIME, accountId, BATCH, after);
    const { changes, attention } = judgeAssets([scope], page, NOW_MS);
    await store.members.changeMembers(accountId, changes, attention, TIME.now);
    after = page.at(-1)?.assetUuid;
    if (page.length < BATCH) return;
  }
}

/** Returns the processor time of one judgement, without reading and parsing the report. */
async function judgeOne(scope: FleetScope, apps: readonly AppReport[]): Promise<number> {
  const rounds = 20_000;
  const facts = {
    isConnected: true,
    lastSeenAtMs: NOW_MS,
    agentVersion: undefined,
    heldUntilMs: undefined,
    unacceptedSinceMs: undefined,
    conflicts: [],
    report: { apps, atMs: NOW_MS },
    targets: [],
    revision: 1,
    variableNames: new Set<string>(),
  };
  const all = await used(async () => {
    for (let round = 0; round < rounds; round++) {
      const { state } = judgeMember(scope, facts, undefined, NOW_MS);
      if (state !== "current") throw new Error(`judged as ${state}`);
    }
  });
  return all / rounds;
}

/** Written without anything of the service: what any program has to do that tells which devices run the revision. */
async function reference(path: string, devices: number): Promise<number> {
  using database = new DatabaseSync(path);
  const read = database.prepare("SELECT asset_uuid, report FROM device_reports");
  const write = database.prepare("UPDATE fleet_members SET message = ? WHERE asset_uuid = ?");
  let outdated = 0;
  const ms = await used(async () => {
    database.exec("BEGIN");
    for (const { asset_uuid: uuid, report } of read.all() as { asset_uuid: string; report: string }[]) {
      const { apps } = JSON.parse(report) as { apps: readonly AppReport[] };
      const isCurrent = apps.every(({ fleet }) => fleet?.revision === 2 && !fleet.is_changed);
      if (!isCurrent) outdated++;
      write.run(isCurrent ? "current" : "outdated", uuid);
    }
    database.exec("COMMIT");
  });
  if (outdated !== devices) throw new Error(`the reference finds ${outdated} outdated devices of ${devices}`);
  return ms;
}

function expectCounts(counts: ReadonlyMap<string, number>, wanted: Readonly<Record<string, number>>): void {
  const found = JSON.stringify(Object.fromEntries(counts));
  if (found !== JSON.stringify(wanted)) throw new Error(`wrong counts: ${found}`);
}

/** Returns the processor time of this process that the work takes, in milliseconds. */
async function used(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
