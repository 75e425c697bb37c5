import { expect, test } from "vitest";
import { type DeploymentRecord, newApp, newRecord } from "../../../../src/agent/core/records.ts";
import { readDeploymentOutcomes } from "../../../../src/agent/live/deployment-outcomes.ts";
import { openSqliteStore } from "../../../../src/agent/store/sqlite-store.ts";
import { parseAppSpec } from "../../../../src/protocol/apps/app-spec.ts";
import type { EventContent } from "../../../../src/protocol/deployments/deployment-event.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const parsed = parseAppSpec({ name: "app", image: "example/app:1" });
if (!parsed.ok) throw parsed.error;
const { spec } = parsed;

const SUCCESS: EventContent = { status: "Success", step: "done", message: "App app is running." };
const FAIL: EventContent = { status: "Fail", step: "checking", message: "No.", code: "ErrorPortInUse" };

const open = () => openSqliteStore({ path: ":memory:", clock: new FakeClock(), bootId: "boot" });
const over = (id: string, outcome: "succeeded" | "failed" = "succeeded"): DeploymentRecord => ({
  ...newRecord(id, 1, spec),
  outcome,
  committed: outcome === "succeeded",
});
const found = (deploymentId: string) => ({ deploymentId, imageId: "sha256:1", containerId: "c1" });

test("a stored deployment is running until its end is acknowledged, and then has the outcome of its final event", () => {
  using store = open();
  store.save({ deployment: over("good"), events: [SUCCESS] });
  store.save({ deployment: over("bad", "failed"), events: [FAIL] });
  expect(readDeploymentOutcomes(store, ["good", "bad"]).map(({ status }) => status)).toEqual(["Running", "Running"]);
  store.acknowledge("good", 1);
  store.acknowledge("bad", 1);
  expect(readDeploymentOutcomes(store, ["bad", "good"])).toEqual([
    { deployment_id: "bad", status: "Fail", message: "No.", code: "ErrorPortInUse" },
    { deployment_id: "good", status: "Success", message: "App app is running." },
  ]);
});

test("a deployment older than the history has succeeded if an installed app is its result", () => {
  using store = open();
  store.save({ app: newApp(spec, found("old")) });
  expect(readDeploymentOutcomes(store, ["old", "other"])).toEqual([
    { deployment_id: "old", status: "Success" },
    { deployment_id: "other", status: null },
  ]);
});

test("the outcome is unknown for an app that was adopted after the store was lost", () => {
  using store = open();
  store.save({ app: { ...newApp(spec, found("lost")), isAdopted: true } });
  expect(store.apps()).toMatchObject([{ isAdopted: true }]);
  expect(readDeploymentOutcomes(store, ["lost"])).toEqual([{ deployment_id: "lost", status: null }]);
});

test("an old deployment is found behind a full history of repairs", () => {
  using store = open();
  store.save({ deployment: over("good"), events: [SUCCESS] });
  store.acknowledge("good", 1);
  for (let at = 0; at < 400; at++) store.save({ historyEntry: { kind: "repair", app: "app", at, reason: "gone" } });
  expect(readDeploymentOutcomes(store, ["good"])).toMatchObject([{ status: "Success" }]);
});
