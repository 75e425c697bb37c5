import { rolloutStrategySchema } from "../../../src/protocol/fleets/rollout-strategy.ts";
import type { z } from "zod";
import type { AppReport } from "../../../src/protocol/apps/app-report.ts";
import {
  newTarget,
  type Rollout,
  type Target,
  type TargetCount,
} from "../../../src/control-plane/core/fleets/rollout.ts";
import type {
  DeploymentFacts,
  ReportFacts,
  TargetContext,
  TargetFacts,
} from "../../../src/control-plane/core/fleets/target-decision.ts";
import { FLEET, imageOf, modelGoal } from "./model-revisions.ts";

/** When rollouts of the unit tests are looked at, Unix milliseconds. */
export const NOW = 1_800_000_000_000;

export const aRollout = (
  fields: Partial<Omit<Rollout, "strategy">> = {},
  strategy: z.input<typeof rolloutStrategySchema> = {},
): Rollout => ({
  id: "rol_1",
  accountId: "acc_1",
  fleetId: "flt_1",
  kind: "rollout",
  retryOf: undefined,
  revision: 2,
  previousRevision: 1,
  state: "running",
  wave: 0,
  waveSizes: [],
  waveEnteredAtMs: NOW,
  advanceTo: undefined,
  acceptedFailures: 0,
  reason: undefined,
  createdBy: { kind: "user", id: "usr_1" },
  approvedBy: undefined,
  stoppedBy: undefined,
  createdAtMs: NOW,
  startedAtMs: NOW,
  finishedAtMs: undefined,
  isActive: true,
  epoch: 1,
  version: 1,
  ...fields,
  strategy: rolloutStrategySchema.parse(strategy),
});

export const aTarget = (fields: Partial<Target> = {}): Target => ({
  ...newTarget("rol_1", "asset-1", 0, NOW),
  ...fields,
});

/** A target whose deployment ended with success. */
export const aSoakingTarget = (fields: Partial<Target> = {}): Target =>
  aTarget({
    state: "soaking",
    attempt: 1,
    deploymentId: "dep_1",
    wasAttempted: true,
    begunAtMs: NOW - 60_000,
    ...fields,
  });

export const aDeployment = (fields: Partial<DeploymentFacts> = {}): DeploymentFacts => ({
  id: "dep_1",
  action: "apply",
  status: "Success",
  code: undefined,
  message: undefined,
  acknowledgedAtMs: NOW - 50_000,
  finishedAtMs: fields.status === "Running" ? undefined : NOW,
  putOffUntilMs: undefined,
  ...fields,
});

export const facts = (fields: Partial<TargetFacts> = {}): TargetFacts => ({
  isConnected: true,
  connectedSinceMs: NOW - 3_600_000,
  protocol: 1,
  lastSeenAtMs: NOW,
  agentVersion: "1.0.0",
  report: undefined,
  heldUntilMs: undefined,
  unacceptedSinceMs: undefined,
  conflicts: [],
  isBusy: false,
  isMember: true,
  missingVariables: [],
  deployment: undefined,
  ...fields,
});

export const context = (rollout: Rollout = aRollout(), fields: Partial<TargetContext> = {}): TargetContext => ({
  rollout,
  goals: { forward: modelGoal(2, undefined), back: modelGoal(1, 2) },
  window: { kind: "open", closesAtMs: undefined },
  ...fields,
});

/** The app of a revision as a device reports it that has lost the mark of its fleet. */
export const anApp = (revision: number, fields: Partial<AppReport> = {}): AppReport => ({
  name: "web",
  image: imageOf(revision),
  image_digest: null,
  state: "running",
  desired_state: "running",
  since: NOW / 1000,
  restarts: 0,
  spec: { name: "web", image: imageOf(revision), environments: [{ key: "SITE", value: "***" }], project: FLEET },
  last_deployment: null,
  ...fields,
});

/** The same with what a device says of its fleet. */
export const aMarkedApp = (revision: number, isChanged = false): AppReport => ({
  ...anApp(revision),
  fleet: { name: FLEET, revision, deployment_id: "dep_1", is_changed: isChanged },
});

export const aReport = (apps: readonly AppReport[], fields: Partial<ReportFacts> = {}): ReportFacts => ({
  apps,
  device: undefined,
  atMs: NOW + 1_000,
  heldSinceMs: undefined,
  ...fields,
});

export const aCount = (state: TargetCount["state"], count: number, fields: Partial<TargetCount> = {}): TargetCount => ({
  wave: 0,
  state,
  direction: "forward",
  waitsFor: undefined,
  wasAttempted: state !== "pending" && state !== "deferred" && state !== "skipped",
  count,
  ...fields,
});
