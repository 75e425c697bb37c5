import type { z } from "zod";
import { applyPlanSchema } from "../../protocol/apps/apply.ts";
import type { ApiClient } from "../api/client.ts";
import type { DeploymentRequest, StreamedEvent } from "../api/deployments.ts";
import { type BodyOf, requestOf } from "../api/request.ts";
import type { Context } from "../context.ts";
import { EXIT, Failure } from "../failure.ts";
import type { GroupRequest } from "../group/request.ts";
import type { UploadSource } from "../documents/large-content.ts";
import { type GroupSpecs, renderGroupPlan } from "../views/plan-view.ts";
import { confirmApply } from "./apply-app.ts";
import { type FollowFlags, requestDeployment, requestDryRun } from "./run-deployment.ts";

export interface ComparedOptions extends FollowFlags {
  readonly dryRun: boolean;
  /** Applies without asking. */
  readonly yes: boolean;
}

/** What the device says that a request would change. */
export interface Comparison {
  readonly request: GroupRequest;
  readonly dryRun: StreamedEvent;
  readonly specs: GroupSpecs;
}

type ApplyPlan = z.output<typeof applyPlanSchema>;

/** Comparisons made when another client changes the device's apps meanwhile. */
const MAX_ATTEMPTS = 2;

/**
 * Applies a group of apps as one deployment: shows what the device says would change, asks, and applies exactly that.
 * Where nothing differs, nothing is requested. Errors: exit code 1 if the answer is no; otherwise as `requestDeployment`.
 */
export async function applyCompared(
  context: Context,
  client: ApiClient,
  asset: string,
  compare: () => Promise<Comparison>,
  options: ComparedOptions,
  uploads?: ReadonlyMap<string, UploadSource>,
): Promise<void> {
  const { printer } = context;
  for (let attempt = 1; ; attempt++) {
    const { request, dryRun, specs } = await compare();
    const plan = readPlan(dryRun.details);
    if (printer.json) printer.jsonLine(planDocument(plan));
    else printer.line(renderGroupPlan(plan, specs, printer.theme));
    if (plan.plan.every(({ change }) => change === "none")) {
      if (!printer.json) printer.line("Nothing to change.");
      return;
    }
    if (options.dryRun) {
      if (!printer.json) printer.line("Nothing was changed.");
      return;
    }
    if (!options.yes) await confirmApply(context, asset);
    try {
      const expected = { ...request, expect: plan.plan_hash };
      await requestDeployment(context, client, asset, applyRequest(asset, expected, false), options, uploads);
      return;
    } catch (error) {
      const isOvertaken = error instanceof Failure && error.code === "PlanChanged";
      if (!isOvertaken || attempt === MAX_ATTEMPTS) throw error;
      printer.note("Another client changed the apps of the device meanwhile. Comparing again.");
    }
  }
}

/**
 * Has the device compare the apps of a request with those that it has.
 *
 * @param specs for what is shown of the difference
 */
export async function compareOnDevice(
  context: Context,
  client: ApiClient,
  asset: string,
  request: GroupRequest,
  options: FollowFlags,
  specs: GroupSpecs = { old: new Map(), new: new Map() },
): Promise<Comparison> {
  const dryRun = await requestDryRun(context, client, asset, applyRequest(asset, request, true), options);
  return { request, dryRun, specs };
}

function planDocument({ plan, plan_hash, download_bytes, not_in_request }: ApplyPlan): object {
  return { plan, plan_hash, download_bytes, ...(not_in_request.length > 0 && { not_in_request }) };
}

const APPLY = "POST /v1/assets/{asset_id}/edge/apply";

function applyRequest(asset: string, body: GroupRequest, isDryRun: boolean): DeploymentRequest {
  const query = { dry_run: isDryRun ? "true" : undefined };
  // Sent as the file has it: the service says what it refuses.
  return requestOf(APPLY, { path: { asset_id: asset }, query, body: body as BodyOf<typeof APPLY> });
}

function readPlan(details: unknown): ApplyPlan {
  const parsed = applyPlanSchema.safeParse(details);
  if (parsed.success) return parsed.data;
  throw new Failure("The device's answer to the dry run has no plan.", {
    exitCode: EXIT.unreachable,
    hint: "The service or the device is newer than this edgectl. Take the one that came with the service.",
  });
}
