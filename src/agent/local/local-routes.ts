import { listVolumes } from "../apps/volumes.ts";
import type { Cleaner } from "../cleanup/cleaner.ts";
import { heldText } from "../core/service/crash-loop.ts";
import type { DataUsageReader } from "../ledger/data-usage-reader.ts";
import type { LinkStatus } from "../link/ports.ts";
import type { DeployServices } from "../steps/context.ts";
import { findAppPolicyViolation, INSTALLED_ORDER, snapshotServices } from "../steps/policy-check.ts";
import type { DeviceDeployments } from "../steps/deployments.ts";
import type { NotifyingStore } from "../store/notifying-store.ts";
import type { LinkResponse, Status, Top, CleanupResponse, DataUsed, VolumesResponse } from "./api.ts";
import { readUsage } from "./read-usage.ts";
import { aborted } from "../../lib/abort.ts";
import { gatherAppFacts } from "./app-facts.ts";
import { followAppLog } from "./app-log.ts";
import { followAppStats } from "./app-stats.ts";
import { type DeviceStatusSources, readDeviceStatus } from "./device-status.ts";
import { toActivities, changeActivities } from "./activities.ts";
import { localDeployments, unknownApp } from "./local-deployments.ts";
import type { LogRing } from "./log-ring.ts";
import type { ClockJump } from "../../lib/steady-time.ts";
import { formatDuration } from "../../lib/terminal/time.ts";
import { countFrom, type LocalRequest, type Routes } from "./routes.ts";
import { EngineError } from "../engine/engine-error.ts";
import { LocalError } from "./local-error.ts";
import type { DeviceDataUsage } from "../../protocol/link/data-usage.ts";

const MAX_LINES = 10_000;
const MAX_ACTIVITIES = 1_000;

export interface LocalAgent {
  readonly services: DeployServices & { readonly store: NotifyingStore };
  readonly deployments: Pick<DeviceDeployments, "deploy" | "change" | "apply" | "isBusy">;
  readonly dataUsage: Pick<DataUsageReader, "thisMonth">;
  readonly cleaner: Pick<Cleaner, "round">;
  readonly link: {
    readonly controlPlaneUrl: string;
    readonly status: () => LinkStatus;
    /** When it went online or offline, in monotonic milliseconds. */
    readonly sinceMs: () => number;
    /** Silence after which it is probed, in milliseconds. */
    readonly keepaliveMs: () => number;
  };
  readonly faults: {
    /** Why the agent cannot write its state; `undefined` if it can. */
    readonly state: () => Fault | undefined;
    /** Why no network interface leads out of the device; `undefined` if one does. */
    readonly network: () => Fault | undefined;
    /** Why an app could not be brought back when that was tried last. */
    readonly repair: (app: string) => string | undefined;
  };
  readonly log: LogRing;
  readonly version: string;
}

interface Fault {
  readonly text: string;
  readonly next: string;
}

/** The routes of the local API. */
export function localRoutes(agent: LocalAgent): Routes {
  const { services, deployments } = agent;
  const sources = statusSourcesOf(agent);
  return {
    "GET /status": {
      kind: "response",
      access: "read",
      run: async ({ signal }): Promise<Status> => ({
        agent: {
          version: agent.version,
          pid: process.pid,
          uptime_s: Math.floor(process.uptime()),
          memory_bytes: process.memoryUsage.rss(),
        },
        link: toLinkResponse(agent),
        device: await readDeviceStatus(sources, signal),
        data: dataUsed(agent.dataUsage),
        clock: jumpText(services.clock.unbelievedJump?.()),
        held: services.crashGuard.allHeld().map(heldText),
        engine_troubles: [...services.troubles.all],
        network_fault: agent.faults.network() ?? null,
        state_fault: agent.faults.state() ?? null,
      }),
    },
    "GET /top": {
      kind: "response",
      access: "read",
      run: async ({ signal }): Promise<Top> => ({
        at_ms: services.clock.monotonic(),
        link: toLinkResponse(agent),
        ...(await readUsage(sources, signal)),
      }),
    },
    "GET /stats": {
      kind: "stream",
      access: "read",
      run: ({ query, signal }, write) => followAppStats(query, services, write, signal),
    },
    "GET /apps/:name": {
      kind: "response",
      access: "read",
      run: async ({ params, signal }) => {
        const name = params["name"] ?? "";
        const facts = await gatherAppFacts(name, sources, signal);
        if (!facts) throw unknownApp(name);
        return facts;
      },
    },
    "GET /apps/:name/log": {
      kind: "stream",
      access: "read",
      run: ({ params, query, signal }, write) => {
        const options = {
          lines: countFrom(query, "lines", 100, MAX_LINES),
          follow: query.has("follow"),
          previous: query.has("previous"),
        };
        return followAppLog(params["name"] ?? "", options, services, (line) => write({ line }), signal);
      },
    },
    "GET /log": { kind: "stream", access: "read", run: (request, write) => followOwnLog(agent.log, request, write) },
    "GET /events": { kind: "stream", access: "read", run: (request, write) => followHistory(agent, request, write) },
    "GET /volumes": { kind: "response", access: "read", run: (request) => listManagedVolumes(services, request) },
    "POST /cleanup": { kind: "response", access: "change", run: (request) => runCleanup(agent.cleaner, request) },
    ...localDeployments({ ...services, deployments }),
  };
}

function statusSourcesOf({ services, deployments, faults }: LocalAgent): DeviceStatusSources {
  return {
    ...services,
    diskReserveBytes: services.config.diskReserveBytes,
    daemon: {
      isBusy: (app) => deployments.isBusy(app),
      heldFor: (app) => services.crashGuard.heldFor(app),
      repairFailure: (app) => faults.repair(app),
      createPolicyCheck: () => {
        const now = snapshotServices(services);
        return async ({ spec }, signal) => {
          const found = await findAppPolicyViolation(now, spec, { phase: "run", order: INSTALLED_ORDER }, signal);
          return found?.isUnresolved ? undefined : found?.message;
        };
      },
    },
  };
}

function toLinkResponse({ link, services }: LocalAgent): LinkResponse {
  const { state, lastError, nextTryAtMs, asset, reconnects } = link.status();
  const now = services.clock.monotonic();
  return {
    state,
    control_plane: withoutCredentials(link.controlPlaneUrl),
    for_s: seconds(now - link.sinceMs()),
    next_try_in_s: nextTryAtMs === undefined ? null : seconds(nextTryAtMs - now),
    last_error: lastError ? { reason: lastError.reason, ago_s: seconds(now - lastError.atMs) } : null,
    asset: asset ?? null,
    reconnects,
    keepalive_s: seconds(link.keepaliveMs()),
  };
}

function withoutCredentials(address: string): string {
  const url = URL.parse(address);
  return url ? `${url.protocol}//${url.host}${url.pathname}` : "";
}

function seconds(ms: number): number {
  return Math.max(0, Math.round(ms / 1000));
}

async function followOwnLog(log: LogRing, { query, signal }: LocalRequest, write: (value: unknown) => void) {
  for (const line of log.last(countFrom(query, "lines", 100, MAX_LINES))) write({ line });
  if (!query.has("follow")) return;
  using _following = log.onLine((line) => write({ line }));
  await aborted(signal);
}

async function followHistory(
  { services }: LocalAgent,
  { query, signal }: LocalRequest,
  write: (value: unknown) => void,
) {
  const { store, clock } = services;
  const past = store.history(countFrom(query, "entries", 20, MAX_ACTIVITIES)).flatMap(toActivities);
  for (const activity of past) write(activity);
  if (!query.has("follow")) return;
  // No change is missed: reading and watching begin in the same turn of the event loop.
  using _watching = store.onChange((change) => {
    for (const activity of changeActivities(change, clock.now())) write(activity);
  });
  await aborted(signal);
}

/** Removes images that no app needs. `dry_run`: only lists them. `all`: also those needed until recently. */
async function runCleanup(cleaner: Pick<Cleaner, "round">, { query, signal }: LocalRequest): Promise<CleanupResponse> {
  const dryRun = query.has("dry_run");
  try {
    const { removed, kept, freedBytes } = await cleaner.round({ dryRun, all: query.has("all") }, signal);
    return { dry_run: dryRun, removed: [...removed], kept: [...kept], freed_bytes: freedBytes };
  } catch (error) {
    throw error instanceof EngineError ? new LocalError(502, "EngineError", error.message) : error;
  }
}

/** Lists the volumes that the agent manages. `size`: measures them. */
async function listManagedVolumes(
  { config, ...services }: LocalAgent["services"],
  { query, signal }: LocalRequest,
): Promise<VolumesResponse> {
  try {
    return await listVolumes({ ...services, stateDir: config.stateDir }, { size: query.has("size") }, signal);
  } catch (error) {
    throw error instanceof EngineError ? new LocalError(502, "EngineError", error.message) : error;
  }
}

/** Returns the bytes the agent used today and this month; `null` if the ledger cannot be read. */
export function dataUsed(report: Pick<DataUsageReader, "thisMonth">): DataUsed | null {
  try {
    const { days, budget, today } = report.thisMonth();
    const byPurpose: Record<string, number> = {};
    for (const { by_purpose: purposes } of days) {
      for (const [purpose, { sent_bytes: sent, received_bytes: received }] of Object.entries(purposes)) {
        byPurpose[purpose] = (byPurpose[purpose] ?? 0) + sent + received;
      }
    }
    return {
      today_bytes: sum(days.filter(({ day }) => day === today)),
      month_bytes: sum(days),
      by_purpose: byPurpose,
      overhead_bytes: days.reduce((total, day) => total + day.overhead_estimate_bytes, 0),
      budget,
    };
  } catch {
    // The ledger logs its own errors; the rest of the status is still returned.
    return null;
  }
}

function sum(days: DeviceDataUsage["days"]): number {
  const bytes = days.flatMap(({ by_purpose: purposes, overhead_estimate_bytes: overhead }) => [
    overhead,
    ...Object.values(purposes).map(({ sent_bytes: sent, received_bytes: received }) => sent + received),
  ]);
  return bytes.reduce((total, part) => total + part, 0);
}

/** Returns what a person should know of a jump of the clock that is not believed yet; `null` without one. */
function jumpText(jump: ClockJump | undefined): string | null {
  if (!jump) return null;
  const by = `${formatDuration(Math.abs(jump.ms) / 1000)} ${jump.ms < 0 ? "back" : "ahead"}`;
  return (
    `The clock has jumped: ${by}. Nothing is deleted by it before it was steady for another ` +
    `${formatDuration(jump.deletionsInMs / 1000)}.`
  );
}
