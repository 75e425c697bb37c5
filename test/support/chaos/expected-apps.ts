import { createHash } from "node:crypto";
import { canonicalSpec } from "../../../src/agent/core/app/container.ts";
import { parseAppSpec } from "../../../src/protocol/app-spec.ts";
import type { AppRequest } from "../system.ts";
import type { RetryingClient } from "./client.ts";
import { isChange } from "./request.ts";

/** An app as it has to be once everything has ended. */
export interface ExpectedApp {
  readonly spec: AppRequest;
  readonly isRunning: boolean;
}

/** What the device has to have, by name: every request that ended well has its effect, in order, and no other has any. */
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

/** What the label of the app's container says of its specification. */
export function specHash({ spec }: ExpectedApp): string {
  const parsed = parseAppSpec(spec);
  if (!parsed.ok) throw parsed.error;
  return createHash("sha256").update(canonicalSpec(parsed.spec)).digest("hex");
}

function apply(
  app: ExpectedApp | undefined,
  { action, name, patch }: Extract<RetryingClient["request"], { action: string }>,
): ExpectedApp | undefined {
  if (!app) throw new Error(`${action} of ${name} succeeded, which is not there`);
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
