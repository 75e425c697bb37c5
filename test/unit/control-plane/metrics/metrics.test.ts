import { commandOf } from "../../../support/deployment-record.ts";
import { expect, test, vi } from "vitest";
import type { Deployment } from "../../../../src/control-plane/core/deployment.ts";
import { newDeployment } from "../../../../src/control-plane/core/deployment.ts";
import { toTransition } from "../../../../src/control-plane/core/next.ts";
import { fail } from "../../../../src/control-plane/core/transitions.ts";
import { CHECK_TIMEOUT_MS, STORE_FIGURES_MS } from "../../../../src/control-plane/metrics/collected.ts";
import { Metrics } from "../../../../src/control-plane/metrics/metrics.ts";
import { MIGRATIONS } from "../../../../src/control-plane/store/sqlite/migrations.ts";
import { COUNT_UNFINISHED_SQL } from "../../../../src/control-plane/store/sqlite/statistics.ts";
import { openStore } from "../../../../src/control-plane/store/sqlite/open-store.ts";
import { StaleSessionError } from "../../../../src/control-plane/store/sessions.ts";
import type { Store } from "../../../../src/control-plane/store/store.ts";
import { openSqlite } from "../../../../src/lib/sqlite.ts";
import { someAudit } from "../../../support/control-plane/people.ts";
import { captureLogText } from "../../../support/captured-log.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { parseExposition, sumOf } from "../../../support/monitoring/exposition.ts";

const deployment: Deployment = newDeployment({
  id: "dep_1",
  accountId: "acc_1",
  assetUuid: "asset",
  app: "web",
  command: commandOf("deploy", {}),
  options: {},
  hasRegistryAuth: false,
  nowMs: 0,
  timeoutMs: 1_000,
});

const cancelled = toTransition(deployment, fail(deployment, 500, "DeploymentCancelled")!);

const CHECKS = {
  responds: () => Promise.resolve(),
  fails: () => Promise.reject(new Error("gone")),
  hangs: () => new Promise<void>(() => {}),
};

function metricsOf(changed: (store: Store) => Partial<Store>) {
  const clock = new FakeClock();
  const log = captureLogText();
  const sqlite = openStore(":memory:");
  const bus: { state: "up" | "down" } = { state: "up" };
  const metrics = new Metrics({ store: { ...sqlite, ...changed(sqlite) }, bus, clock, logger: log.logger });
  const value = async (name: string, labels?: Record<string, string>) =>
    sumOf(parseExposition(await metrics.registry.metrics()), name, labels);
  return { clock, log, bus, metrics, store: metrics.store, value };
}

test("a change is counted if the store has made it, alone or with others", async () => {
  const stored: boolean[] = [false, true];
  const { store, value } = metricsOf(({ deployments }) => ({
    deployments: Object.assign(Object.create(deployments) as typeof deployments, {
      updateDeployment: async () => stored.shift(),
      updateDeployments: async () => new Set(["dep_2"]),
    }),
  }));
  const ended = () => value("edge_control_deployments_ended_total", { code: "DeploymentCancelled" });
  await store.deployments.updateDeployment(cancelled);
  expect(await ended()).toBe(0);
  await store.deployments.updateDeployment(cancelled);
  expect(await ended()).toBe(1);
  await store.deployments.updateDeployments([cancelled, { ...cancelled, after: { ...cancelled.after, id: "dep_2" } }]);
  expect(await ended()).toBe(2);
});

test("a change that the store refused is not counted, and a replaced session is no failure of the store", async () => {
  const { store, value } = metricsOf(({ deployments }) => ({
    deployments: Object.assign(Object.create(deployments) as typeof deployments, {
      updateDeployment: async () => {
        throw new StaleSessionError({ assetUuid: "asset", epoch: 1 });
      },
    }),
  }));
  await expect(store.deployments.updateDeployment(cancelled)).rejects.toThrow();
  expect(await value("edge_control_deployments_ended_total")).toBe(0);
  expect(await value("edge_control_store_failures_total")).toBe(0);
});

test("what is counted is stored with its entry in the audit log", async () => {
  const { store } = metricsOf(() => ({}));
  await store.accounts.createAccount({ id: "acc_1", name: "x", createdAt: 0 });
  const audit = someAudit("deployment.requested", "acc_1");
  await store.deployments.createDeployment({ after: deployment, events: [], specBytes: 2, audit });
  await store.deployments.updateDeployment({ ...cancelled, audit: someAudit("deployment.cancelled", "acc_1") });
  const actions = (await store.audit.listEntries("acc_1", 10)).map(({ action }) => action);
  expect(actions).toEqual(["deployment.cancelled", "deployment.requested"]);
});

test("failures of the store are counted by operation, and passed on", async () => {
  const { store, value } = metricsOf(({ accounts }) => ({
    accounts: Object.assign(Object.create(accounts) as typeof accounts, {
      findUsage: async () => {
        throw new Error("disk I/O error");
      },
    }),
  }));
  await expect(store.accounts.findUsage("acc_1")).rejects.toThrow("disk I/O error");
  const labels = { operation: "accounts.findUsage" };
  expect(await value("edge_control_store_failures_total", labels)).toBe(1);
  expect(await value("edge_control_store_call_duration_seconds_count", labels)).toBe(1);
});

test("a store that fails or does not respond is reported as down, and its last figures stay", async () => {
  let state: keyof typeof CHECKS = "responds";
  let counts = new Map([["running" as const, 2]]);
  const { clock, log, bus, value } = metricsOf(() => ({
    check: () => CHECKS[state](),
    statistics: {
      countUnfinished: async () => {
        if (counts.size === 0) throw new Error("gone");
        return counts;
      },
      sizes: async () => undefined,
      countAgentVersions: async () => new Map(),
    },
  }));
  expect(await value("edge_control_store_up")).toBe(1);
  expect(await value("edge_control_bus_state", { state: "down" })).toBe(0);
  bus.state = "down";
  state = "fails";
  counts = new Map();
  await clock.advance(STORE_FIGURES_MS);
  expect(await value("edge_control_store_up")).toBe(0);
  expect(await value("edge_control_bus_state", { state: "down" })).toBe(1);
  expect(await value("edge_control_deployments_unfinished", { state: "running" })).toBe(2);
  expect(log.text()).toContain("cannot read the store's figures for the metrics");
  state = "hangs";
  const silent = value("edge_control_store_up");
  await clock.advance(CHECK_TIMEOUT_MS);
  expect(await silent).toBe(0);
});

test("devices are counted by the version of their agent with a bounded number of labels, and those behind the newest release", async () => {
  let versions = new Map(Array.from({ length: 25 }, (_, index) => [`1.${index}.0`, 100 - index]));
  let releases = ["1.9.0", "1.10.0"];
  const { clock, value } = metricsOf(({ agentReleases }) => ({
    statistics: {
      countUnfinished: async () => new Map(),
      sizes: async () => undefined,
      countAgentVersions: async () => versions,
    },
    agentReleases: Object.assign(Object.create(agentReleases) as typeof agentReleases, {
      listReleases: async () => releases.map((version) => ({ version, digest: "", images: [], addedAt: 1 })),
    }),
  }));
  const devices = (version: string) => value("edge_control_devices", { agent_version: version });
  expect([await devices("1.0.0"), await devices("1.19.0"), await devices("1.20.0")]).toEqual([100, 81, undefined]);
  expect(await devices("other")).toBe(80 + 79 + 78 + 77 + 76);
  // 1.0.0 to 1.9.0, since 1.10.0 is the newest release.
  expect(await value("edge_control_devices_behind")).toBe(100 + 99 + 98 + 97 + 96 + 95 + 94 + 93 + 92 + 91);
  versions = new Map([
    ["1.19.0", 3],
    ["what a device says", 2],
  ]);
  releases = [];
  await clock.advance(STORE_FIGURES_MS);
  expect([await devices("1.19.0"), await devices("1.0.0"), await devices("other")]).toEqual([3, undefined, 2]);
  expect(await devices("what a device says")).toBeUndefined();
  expect(await value("edge_control_devices_behind")).toBe(0);
});

test("calls of SIM operators are counted by type and outcome", async () => {
  const { metrics, value } = metricsOf(() => ({}));
  const count = (outcome: string) => value("edge_control_sim_operator_calls_total", { sim_type: "prosim", outcome });
  expect(await count("credentials")).toBe(0);
  metrics.observer.operatorCalled("prosim", "credentials");
  metrics.observer.operatorCalled("supersim", "credentials");
  expect(await count("credentials")).toBe(1);
});

test("unfinished deployments are found by an index", () => {
  using database = openSqlite(":memory:", { migrations: MIGRATIONS });
  const plan = database.prepare(`EXPLAIN QUERY PLAN ${COUNT_UNFINISHED_SQL}`).all();
  const steps = plan.map((row) => String(row["detail"]));
  expect(steps).toContain("SCAN deployments USING INDEX deployments_unfinished");
});

test("to be asked does not list every connection", async () => {
  const { value } = metricsOf(() => ({}));
  const lists = [
    vi.spyOn(process, "getActiveResourcesInfo"),
    vi.spyOn(process as unknown as { _getActiveHandles: () => unknown[] }, "_getActiveHandles"),
    vi.spyOn(process as unknown as { _getActiveRequests: () => unknown[] }, "_getActiveRequests"),
  ];
  expect(await value("process_cpu_seconds_total")).toBeGreaterThan(0);
  for (const list of lists) expect(list).not.toHaveBeenCalled();
  vi.restoreAllMocks();
});
