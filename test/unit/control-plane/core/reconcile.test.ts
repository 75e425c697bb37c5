import { expect, test } from "vitest";
import type { Deployment } from "../../../../src/control-plane/core/deployment.ts";
import { reconcile } from "../../../../src/control-plane/core/delivery.ts";
import { acknowledged, failed, receivedDeployment, SUCCEEDED, T0 } from "../../../support/deployment-record.ts";

const deployment = (id: string, fields: Partial<Deployment> = {}): Deployment => receivedDeployment({ id, ...fields });
const held = (record: Deployment) => ({ id: record.id, deployment: record });

test("a deployment that the device holds and should hold is confirmed", () => {
  const known = deployment("a");
  expect(reconcile([known], [held(known)])).toEqual([{ kind: "confirm", deploymentId: "a" }]);
});

test.each([{}, { state: acknowledged() }, { cancelRequestedAtMs: T0 }])(
  "the outcome of a deployment that the device does not hold is queried: %o",
  (fields) => {
    expect(reconcile([deployment("a", fields)], [])).toEqual([{ kind: "query_outcome", deploymentId: "a" }]);
  },
);

test("a deployment without a record is left until the device reports its end", () => {
  expect(reconcile([], [{ id: "x", deployment: undefined }])).toEqual([]);
});

test("a deployment to be cancelled is confirmed as held, and cancelled", () => {
  const known = deployment("a", { cancelRequestedAtMs: T0 });
  expect(reconcile([known], [held(known)])).toEqual([
    { kind: "confirm", deploymentId: "a" },
    { kind: "cancel", deploymentId: "a", reason: "requested" },
  ]);
});

test.each([
  ["DeploymentTimeout", "timeout"],
  ["DeviceNotReachable", "not_reachable"],
  ["DeploymentCancelled", "requested"],
  ["Internal", "unknown"],
] as const)("a deployment that failed on record with %s is cancelled on the device", (code, reason) => {
  expect(reconcile([], [held(deployment("a", { state: failed(code) }))])).toEqual([
    { kind: "cancel", deploymentId: "a", reason },
  ]);
});

test.each([{ state: SUCCEEDED }, { state: failed("ImagePullBackOff") }])(
  "what ended by the device's own word is left to its last event: %o",
  (fields) => {
    expect(reconcile([], [held(deployment("a", fields))])).toEqual([]);
  },
);
