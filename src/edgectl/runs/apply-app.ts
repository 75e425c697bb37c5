import type { ApiClient } from "../api/client.ts";
import type { DeploymentRequest } from "../api/deployments.ts";
import { getApp } from "../api/apps.ts";
import { requestOf } from "../api/request.ts";
import type { Context } from "../context.ts";
import { type FollowFlags, requestDeployment } from "./run-deployment.ts";
import { EXIT, Failure, usageFailure } from "../failure.ts";
import { renderPlan } from "../views/plan-view.ts";
import type { DiffOptions } from "../apply/diff.ts";
import type { AppDocument } from "../../protocol/apps/fields-in-force.ts";
import { isUnknownFile, withKnownHashes } from "../group/known-files.ts";
import { type AppPlan, planApp, secretsToGive, updateFor } from "../apply/plan.ts";
import type { DesiredApp } from "../apply/read-app-file.ts";

export interface ApplyOptions extends FollowFlags, DiffOptions {
  readonly dryRun: boolean;
  /** Applies without asking. */
  readonly yes: boolean;
}

/** Comparisons made when another client deploys or removes the app meanwhile. */
const MAX_ATTEMPTS = 2;

/** The errors of a request that was planned for an app that has been removed, or deployed, since. */
const OVERTAKEN: Readonly<Record<AppPlan["change"], string | undefined>> = {
  create: "AppExists",
  update: "AppNotFound",
  none: undefined,
};

/**
 * Compares an app with the device's, shows the difference, asks, and deploys or updates the app. Where nothing differs,
 * nothing is requested. Errors: exit code 1 if the answer is no; otherwise as `requestDeployment`.
 */
export async function applyApp(
  context: Context,
  client: ApiClient,
  asset: string,
  desired: DesiredApp,
  options: ApplyOptions,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const current = await findSpec(client, asset, desired.spec.name);
    const [missing] = secretsToGive(desired.spec, current);
    if (missing !== undefined) {
      const message = `The secret ${missing} has no value, and ${desired.spec.name} on ${asset} has none that could stay.`;
      throw usageFailure(message, "Give its value in the file.");
    }
    const plan = planApp(desired.spec, current, options);
    showPlan(context, plan);
    if (plan.change === "none") return;
    if (!options.dryRun && !options.yes) await confirmApply(context, asset);
    try {
      await deploy(context, client, asset, { desired, current }, options);
      return;
    } catch (error) {
      const isOvertaken = error instanceof Failure && error.code !== undefined && error.code === OVERTAKEN[plan.change];
      if (!isOvertaken || attempt === MAX_ATTEMPTS) throw error;
      context.printer.note(
        `Another client ${plan.change === "create" ? "deployed" : "removed"} ${plan.app} meanwhile. Comparing again.`,
      );
    }
  }
}

interface Change {
  readonly desired: DesiredApp;
  readonly current: AppDocument | undefined;
}

/** Requests the change. Contents that the device has according to its report are sent if it does not have them after all. */
async function deploy(
  context: Context,
  client: ApiClient,
  asset: string,
  { desired, current }: Change,
  options: ApplyOptions,
): Promise<void> {
  const request = (app: DesiredApp) =>
    requestDeployment(context, client, asset, requestFor(asset, app, current, options.dryRun), options);
  const { files } = desired.spec;
  if (!files || !current) return await request(desired);
  try {
    const short = withKnownHashes(files, current["files"]);
    await request({ ...desired, spec: { ...desired.spec, files: short } });
  } catch (error) {
    if (!isUnknownFile(error)) throw error;
    await request(desired);
  }
}

/** Asks the device for an app's specification with the values of its variables. `undefined` if it has no such app. */
async function findSpec(client: ApiClient, asset: string, name: string): Promise<AppDocument | undefined> {
  try {
    return (await getApp(client, asset, name, true)).spec;
  } catch (error) {
    if (error instanceof Failure && error.code === "AppNotFound") return undefined;
    throw error;
  }
}

function showPlan({ printer }: Context, plan: AppPlan): void {
  if (printer.json) printer.jsonLine({ plan: [plan] });
  else printer.line(renderPlan([plan], printer.theme));
  if (plan.unknown_fields.length === 0) return;
  const fields = plan.unknown_fields.join(", ");
  printer.note(`This version of edgectl does not know these fields of ${plan.app}, which stay as they are: ${fields}.`);
}

/** Asks whether to apply what was shown. Errors: exit code 1 if the answer is no. */
export async function confirmApply({ io }: Context, asset: string): Promise<void> {
  const answer = await io.stdin.ask(`Apply this to ${asset}? [y/N] `);
  if (/^y(es)?$/i.test(answer.trim())) return;
  throw new Failure("Nothing was applied.", { exitCode: EXIT.failed });
}

function requestFor(
  asset: string,
  { spec, options }: DesiredApp,
  current: AppDocument | undefined,
  dryRun: boolean,
): DeploymentRequest {
  const query = { dry_run: dryRun ? "true" : undefined };
  if (!current) {
    const body = { ...spec, ...options };
    return requestOf("POST /v1/assets/{asset_id}/edge/apps", { path: { asset_id: asset }, query, body });
  }
  const path = { asset_id: asset, name: spec.name };
  const body = { ...updateFor(spec, current), ...options };
  return requestOf("PATCH /v1/assets/{asset_id}/edge/apps/{name}", { path, query, body });
}
