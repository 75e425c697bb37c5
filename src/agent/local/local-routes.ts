import type { Cleaner } from "../cleanup/cleaner.ts";
import type { DataUsageReader } from "../ledger/data-usage-reader.ts";
import type { LinkStatus } from "../link/ports.ts";
import type { DeployServices } from "../steps/context.ts";
import { findAppPolicyViolation, snapshotServices } from "../steps/policy-check.ts";
import type { Deployments } from "../steps/deployments.ts";
import type { NotifyingStore } from "../store/notifying-store.ts";
import type { LinkResponse, Status, Top } from "./api.ts";
import { readUsage } from "./read-usage.ts";
import { aborted } from "./aborted.ts";
import { gatherAppFacts } from "./app-facts.ts";
import { followAppLog } from "./app-log.ts";
import { runCleanup } from "./cleanup.ts";
import { type DeviceStatusSources, readDeviceStatus } from "./device-status.ts";
import { toActivities, changeActivities } from "./activities.ts";
import { dataUsed } from "./data-used.ts";
import { localDeployments, unknownApp } from "./local-deployments.ts";
import type { LogRing } from "./log-ring.ts";
import { countFrom, type LocalRequest, type Routes } from "./routes.ts";

const MAX_LINES = 10_000;
const MAX_ACTIVITIES = 1_000;

export interface LocalAgent {
  readonly services: DeployServices & { readonly store: NotifyingStore };
  readonly deployments: Pick<Deployments, "deploy" | "change" | "isBusy">;
  readonly dataUsage: Pick<DataUsageReader, "thisMonth">;
  readonly cleaner: Pick<Cleaner, "round">;
  readonly link: () => LinkStatus;
  /** Since when it has been online, or has not, in monotonic milliseconds. */
  readonly linkSince: () => number;
  readonly controlPlaneUrl: string;
  readonly log: LogRing;
  readonly version: string;
}

/** What the agent does for a person on the device. */
export function localRoutes(agent: LocalAgent): Routes {
  const { services, deployments } = agent;
  const sources: DeviceStatusSources = {
    ...services,
    diskReserveBytes: services.config.diskReserveBytes,
    isBusy: (app) => deployments.isBusy(app),
    createPolicyCheck: () => {
      const now = snapshotServices(services);
      return async ({ spec }, signal) => {
        const found = await findAppPolicyViolation(now, spec, { phase: "run", order: 0 }, signal);
        return found?.isUnresolved ? undefined : found?.message;
      };
    },
  };
  return {
    "GET /status": {
      kind: "answer",
      access: "read",
      run: async ({ signal }): Promise<Status> => ({
        agent: {
          version: agent.version,
          pid: process.pid,
          uptime_s: Math.floor(process.uptime()),
          memory_bytes: process.memoryUsage.rss(),
        },
        link: linkAnswer(agent),
        device: await readDeviceStatus(sources, signal),
        data: dataUsed(agent.dataUsage),
      }),
    },
    "GET /top": {
      kind: "answer",
      access: "read",
      run: async ({ signal }): Promise<Top> => ({
        at_ms: services.clock.monotonic(),
        link: linkAnswer(agent),
        ...(await readUsage(sources, signal)),
      }),
    },
    "GET /apps/:name": {
      kind: "answer",
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
        const options = { lines: countFrom(query, "lines", 100, MAX_LINES), follow: query.has("follow") };
        return followAppLog(params["name"] ?? "", options, services, (line) => write({ line }), signal);
      },
    },
    "GET /log": { kind: "stream", access: "read", run: (request, write) => followOwnLog(agent.log, request, write) },
    "GET /events": { kind: "stream", access: "read", run: (request, write) => followHistory(agent, request, write) },
    "POST /cleanup": { kind: "answer", access: "change", run: (request) => runCleanup(agent.cleaner, request) },
    ...localDeployments({ ...services, deployments }),
  };
}

function linkAnswer({ link, linkSince, services, controlPlaneUrl }: LocalAgent): LinkResponse {
  const { state, lastError, nextTryAtMs, asset, reconnects } = link();
  const now = services.clock.monotonic();
  return {
    state,
    control_plane: withoutCredentials(controlPlaneUrl),
    for_s: seconds(now - linkSince()),
    next_try_in_s: nextTryAtMs === undefined ? null : seconds(nextTryAtMs - now),
    last_error: lastError ? { reason: lastError.reason, ago_s: seconds(now - lastError.atMs) } : null,
    asset: asset ?? null,
    reconnects,
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
  for (const happening of past) write(happening);
  if (!query.has("follow")) return;
  // Nothing can happen in between: reading and watching begin in the same turn.
  using _watching = store.onChange((change) => {
    for (const happening of changeActivities(change, clock.now())) write(happening);
  });
  await aborted(signal);
}
