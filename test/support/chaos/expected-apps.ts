import { createHash } from "node:crypto";
import { canonicalSpec } from "../../../src/agent/core/app/container.ts";
import { parseAppSpec } from "../../../src/protocol/apps/app-spec.ts";
import type { AppRequest } from "../system.ts";
import type { RetryingClient } from "./client.ts";
import { isChange } from "./request.ts";

/** The expected state of an app after all deployments have ended. */
export interface ExpectedApp {
  readonly spec: AppRequest;
  readonly isRunning: boolean;
}

/** Returns the expected apps by name: the effects of all successful requests, in order. */
export function expectedApps(clients: readonly RetryingClient[]): Map<string, ExpectedApp> {
  const apps = new Map<string, ExpectedApp>();
  for (const { request, final } of clients) {
    if (final?.status !== "Success") continue;
    const after = isChange(request) ? apply(apps.get(request.name), request) : { spec: request, isRunning: true };
    if (after) apps.set(request.name, after);
    else apps.delete(request.name);
  }
  return apps;
}

/** Returns the expected spec hash in the label of the app's container. */
export function specHash({ spec }: ExpectedApp): string {
  const parsed = parseAppSpec(spec);
  if (!parsed.ok) throw parsed.error;
  return createHash("sha256").update(canonicalSpec(parsed.spec)).digest("hex");
}

function apply(
  app: ExpectedApp | undefined,
  { action, name, patch }: Extract<RetryingClient["request"], { action: string }>,
): ExpectedApp | undefined {
  if (!app) throw new Error(`${action} of ${name} succeeded, but the app does not exist`);
  switch (action) {
    case "update":
      return { ...app, spec: { ...app.spec, ...patch } };
    case "remove":
      return undefined;
    case "stop":
      return { ...app, isRunning: false };
    case "start":
    case "restart":
      return { ...app, isRunning: true };
  }
}
