import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { sourceFiles } from "../support/repo/files.ts";

/*
 * Every use of the time of day has a class. A duration is none of them: it is measured with `clock.monotonic()`. What is deleted for
 * its age goes by `clock.deletionTime()`, which no jump of the clock moves before that is believed (src/lib/steady-time.ts).
 */

/** `clock.now()`, the time of records: it follows a jump only when that is believed. */
const RECORD_TIME: Readonly<Record<string, readonly string[]>> = {
  // What is stored is dated by it.
  dates: [
    "agent/cleanup/cleaner.ts",
    "agent/daemon/downloads.ts",
    "agent/live/report-builder.ts",
    "agent/telemetry/app-recorder.ts",
    "agent/telemetry/health-recorder.ts",
    "agent/steps/app-reconciler.ts",
    "agent/steps/deployment-run.ts",
    "agent/steps/policy-enforcer.ts",
    "agent/store/open-store.ts",
    "agent/store/sqlite-store.ts",
    "control-plane/alerts/alert-watcher.ts",
    "control-plane/alerts/messenger.ts",
    "control-plane/alerts/service-watch.ts",
    "control-plane/api/assets/acceptance.ts",
    "control-plane/api/fleets/fleets.ts",
    "control-plane/api/keys/keys.ts",
    "control-plane/api/people/accept-invitation.ts",
    "control-plane/api/people/decide-login.ts",
    "control-plane/api/people/session-resource.ts",
    "control-plane/api/people/set-up.ts",
    "control-plane/api/people/user-resource.ts",
    "control-plane/assets/register-asset.ts",
    "control-plane/assets/update-asset.ts",
    "control-plane/accounts/audit-entry.ts",
    "control-plane/deployments/deployments.ts",
    "control-plane/deployments/executor.ts",
    "control-plane/assets/enrolment-codes.ts",
    "control-plane/fleets/command-rollout.ts",
    "control-plane/fleets/coordinator.ts",
    "control-plane/fleets/make-revision.ts",
    "control-plane/fleets/make-rollout.ts",
    "control-plane/fleets/member-judge.ts",
    "control-plane/fleets/plan-rollout.ts",
    "control-plane/fleets/reapply.ts",
    "control-plane/fleets/retry-rollout.ts",
    "control-plane/fleets/rollout-progress.ts",
    "control-plane/devices/hub/boot-gate.ts",
    "control-plane/devices/hub/device-admission.ts",
    "control-plane/devices/hub/hub.ts",
    "control-plane/instances/membership.ts",
    "control-plane/accounts/login-requests.ts",
    "control-plane/accounts/oidc/oidc-sign-in.ts",
    "control-plane/accounts/one-time-link.ts",
    "control-plane/accounts/open-session.ts",
    "control-plane/accounts/sign-in-gate.ts",
    "control-plane/devices/device-reports.ts",
    "control-plane/sealing/open-sealer.ts",
    "control-plane/sealing/rotate-keys.ts",
    "control-plane/sims/checked-sim.ts",
    "control-plane/devices/streams/audit-trail.ts",
  ],
  // What expires or is due is compared with it.
  expiries: [
    "control-plane/api/alerts/silences.ts",
    "control-plane/api/assets/hold.ts",
    "control-plane/api/build-server.ts",
    "control-plane/api/keys/key-resource.ts",
    "control-plane/api/shared-rate-store.ts",
    "control-plane/fleets/rollout-runner.ts",
    "control-plane/accounts/principal-reader.ts",
    "control-plane/accounts/watch-principal.ts",
    "control-plane/sims/operator-pauses.ts",
    "control-plane/sims/plan-watcher.ts",
    "control-plane/sims/sim-refresher.ts",
    "control-plane/sims/sim-watcher.ts",
    "control-plane/uploads/uploads.ts",
  ],
  // A day, a month or hours of the day are found by it.
  periods: [
    "agent/ledger/budget-gate.ts",
    "agent/ledger/budget-watch.ts",
    "agent/ledger/traffic-ledger.ts",
    "agent/telemetry/health-reports.ts",
    "control-plane/api/device/get-data-usage.ts",
    "control-plane/api/device/get-device.ts",
    "control-plane/api/legacy-mirrors.ts",
    "control-plane/api/usage/list-usages.ts",
    "control-plane/sims/read-usage.ts",
    "control-plane/deployments/plan-obstacle.ts",
    "control-plane/sims/data-plans.ts",
    "control-plane/sims/operator-usage.ts",
  ],
  // People are shown it, or an age.
  shown: [
    "control-plane/alerts/channel-test.ts",
    "control-plane/api/alerts/alerts.ts",
    "control-plane/api/alerts/settings.ts",
    "control-plane/api/fleets/members.ts",
    "agent/local/local-deployments.ts",
    "agent/local/local-routes.ts",
    "control-plane/api/apps/command-stream.ts",
    "control-plane/api/apps/get-app.ts",
    "control-plane/api/asset-resource.ts",
    "control-plane/api/device/live-or-stored.ts",
    "control-plane/api/device/presence.ts",
    "control-plane/api/history/connectivity.ts",
    "control-plane/api/history/health.ts",
    "control-plane/api/history/uptime.ts",
    "control-plane/api/rollouts/create-rollout.ts",
    "control-plane/otlp/otlp-exporter.ts",
    "control-plane/api/sims/sims.ts",
    "control-plane/fleets/price-rollout.ts",
    "edgectl/commands/assets-history.ts",
    "edgectl/commands/assets-update.ts",
    "edgectl/commands/assets.ts",
    "edgectl/commands/sims-plans.ts",
    "edgectl/commands/sims.ts",
    "edgectl/commands/usage.ts",
    "edgectl/views/app-view.ts",
    "lib/log/rotating-file.ts",
  ],
  // A command of a person, which lasts seconds.
  commands: [
    "control-plane/cli/usage.ts",
    "agent/cli/enroll.ts",
    "agent/cli/support-bundle.ts",
    "control-plane/cli/account.ts",
    "control-plane/cli/agent-release.ts",
    "control-plane/cli/alerts.ts",
    "control-plane/cli/alerts-settings.ts",
    "control-plane/cli/key.ts",
    "control-plane/cli/secrets.ts",
    "control-plane/cli/sim-credentials.ts",
    "control-plane/database-commands.ts",
    "edgectl/commands/alerts.ts",
    "edgectl/commands/asset-settings.ts",
    "edgectl/commands/images.ts",
    "edgectl/commands/keys.ts",
    "edgectl/commands/options.ts",
  ],
  // Sent to devices, which compare their own time of day with it.
  sent: ["control-plane/devices/hub/session.ts"],
  // What a clock or a metric is made of.
  clocks: [
    "control-plane/instances/open-clock.ts",
    "control-plane/instances/service-clock.ts",
    "control-plane/metrics/metrics.ts",
    "control-plane/metrics/observe-deployments.ts",
    "control-plane/server.ts",
  ],
};

/** `clock.timeOfDay()`: jumps with the system's clock. */
const TIME_OF_DAY: Readonly<Record<string, readonly string[]>> = {
  // Compared with what others sent: certificates, `Retry-After`, tokens; or shown beside it.
  others: [
    "agent/doctor/probes/clock.ts",
    "agent/doctor/probes/dns.ts",
    "agent/doctor/probes/proxy.ts",
    "agent/doctor/probes/tcp.ts",
    "agent/doctor/probes/tls.ts",
    "agent/doctor/probes/token.ts",
    "agent/link/clock-watch.ts",
    "agent/link/session.ts",
    "agent/registry/to-registry-error.ts",
    "control-plane/sim-operator/emnify/emnify-operator.ts",
    "control-plane/sim-operator/http/operator-http.ts",
    "control-plane/sim-operator/http/request-token.ts",
    // The time of a signature, which receivers compare with their own.
    "control-plane/alerts/channels/channels.ts",
  ],
  // Compared with times of the engine on the same machine.
  engine: [
    "agent/apps/app-log.ts",
    "agent/apps/app-stats.ts",
    "agent/cli/app.ts",
    "agent/engine/docker/docker-engine.ts",
    "agent/engine/docker/podman-runs.ts",
    "agent/live/report-builder.ts",
    "agent/local/device-status.ts",
  ],
  // Sent, to be compared with the service's.
  sent: ["agent/live/device-state.ts"],
  // Compared with the monotonic clock, to notice that the machine was suspended: costs a probe at most.
  suspended: ["agent/link/keepalive.ts"],
};

/** `clock.deletionTime()`: what is old is removed, or what is final is not read again. */
const DELETIONS: readonly string[] = [
  "agent/cleanup/cleaner.ts",
  "agent/download/sweeper.ts",
  "agent/store/open-store.ts",
  "control-plane/alerts/alert-watcher.ts",
  "control-plane/sims/read-usage.ts",
  "control-plane/deployments/retention.ts",
  "control-plane/events/event-retention.ts",
];

/** `Date.now()` and `new Date()`. */
const RAW: Readonly<Record<string, string>> = {
  "lib/clock.ts": "the clock itself",
  "console/parts/missing-part.tsx": "in the browser: a pause over a reload, which no other clock of a page outlasts",
  "console/api/reachability.ts": "in the browser: the difference to the service's time",
};

/** Differences of such times: ages of records, which outlast a process, and pauses until a time that is stored or shown. */
const DIFFERENCES: Readonly<Record<string, string>> = {
  "control-plane/fleets/member-judge.ts": "until what is stored as due",
  "agent/engine/docker/podman-runs.ts": "how long ago a run ended, as the engine says; one of the future is none",
  "agent/doctor/probes/clock.ts": "the difference to the control plane's time, for people",
  "agent/ledger/budget-gate.ts": "until the budget of the next day or month; looked at again every few seconds",
  "agent/store/sqlite-store.ts": "when an event was, from its age",
  "console/parts/missing-part.tsx": "the pause over a reload",
  "console/api/reachability.ts": "the difference to the service's time",
  "control-plane/fleets/rollout-runner.ts": "until a time on record; looked at again every minute",
  "control-plane/instances/service-clock.ts": "the offset of a clock, and when something was, from its age",
  "control-plane/metrics/observe-deployments.ts": "the age of a record, for a metric",
  "control-plane/accounts/watch-principal.ts": "until a time on record, which is read again then",
  "control-plane/devices/device-reports.ts": "when a report was held back, from its age",
  "control-plane/sims/sim-refresher.ts": "the age of a record; one of the future is none",
};

/** Where clocks are made. */
const CLOCKS = new Set(["lib/clock.ts", "lib/steady-clock.ts", "control-plane/instances/shared-clock.ts"]);

const NOT_CODE = /^\s*(?:\*|\/\/|\/\*\*|import ).*$/gm;
const files = sourceFiles("src");
const texts = new Map(
  await Promise.all(
    files.map(
      async (path) => [path.slice("src/".length), (await readFile(path, "utf8")).replaceAll(NOT_CODE, "")] as const,
    ),
  ),
);
const using = (pattern: RegExp): readonly string[] =>
  [...texts].flatMap(([path, text]) => (pattern.test(text) && !CLOCKS.has(path) ? [path] : [])).toSorted();
const all = (classes: Readonly<Record<string, readonly string[]>>): readonly string[] =>
  Object.values(classes).flat().toSorted();

test("the time of records is used where a class says for what", () => {
  expect(using(/[cC]lock\.now\(|\bunixNow\(/)).toEqual(all(RECORD_TIME));
});

test("the time of day, which jumps, is used for what others say, and sent to them", () => {
  expect(using(/\btimeOfDay\(/)).toEqual(all(TIME_OF_DAY));
});

test("what is old is deleted by a time that does not jump", () => {
  expect(using(/\bdeletionTime\(/)).toEqual([...DELETIONS].toSorted());
});

test("no other code asks the system for the time of day", () => {
  const raw = [...texts].flatMap(([path, text]) => (/\bDate\.now\(|\bnew Date\(\)/.test(text) ? [path] : []));
  expect(raw.toSorted()).toEqual(Object.keys(RAW).toSorted());
});

test("no duration comes from the time of day", () => {
  const subtracted =
    /(?:[cC]lock\.(?:now|timeOfDay)\(\)|unixNow\([\w.#]*\)|\bDate\.now\(\))\s*-|-\s*[\w.#]*(?:[cC]lock\.(?:now|timeOfDay)\(\)|\bDate\.now\(\))/;
  expect(using(subtracted)).toEqual(Object.keys(DIFFERENCES).toSorted());
});
