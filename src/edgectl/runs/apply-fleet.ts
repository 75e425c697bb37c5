import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { listAgentReleases } from "../api/agent-releases.ts";
import type { ApiClient, Tagged } from "../api/client.ts";
import {
  countMatching,
  createFleet,
  createRevision,
  type Fleet,
  type RevisionBody,
  getRevision,
  readFleet,
  updateFleet,
} from "../api/fleets.ts";
import { ifUnchanged } from "../api/if-unchanged.ts";
import { confirm } from "../confirm.ts";
import type { Context } from "../context.ts";
import { EXIT, Failure } from "../failure.ts";
import { hintFor } from "../hints.ts";
import { renderFleetPlan } from "../views/fleet-view.ts";
import { assets } from "../views/rollout-words.ts";
import type { FleetFile } from "../fleets/fleet-file.ts";
import { type FleetPlan, planFleet } from "../fleets/plan.ts";
import { moveContents } from "../documents/move-contents.ts";
import { sendUploads } from "./send-uploads.ts";

export interface FleetApplyOptions {
  readonly dryRun: boolean;
  /** Applies without asking. */
  readonly yes: boolean;
}

/**
 * Compares a file with the fleet, shows the difference, asks, then creates or changes the fleet and makes a revision. Nothing
 * reaches a device. Returns the fleet's newest revision, or `undefined` for a dry run. Errors: exit code 1 if the answer is no.
 */
export async function applyFleet(
  context: Context,
  client: ApiClient,
  file: FleetFile,
  options: FleetApplyOptions,
): Promise<number | undefined> {
  const { printer } = context;
  const { name, selector } = file.fleet;
  for (const note of file.notes) printer.note(note);
  const found = await findFleet(client, name);
  const fleet = found?.value;
  const last = fleet?.last_revision ?? 0;
  const newest = last > 0 ? await getRevision(client, name, last) : undefined;
  const plan = planFleet(file, fleet && { fleet, newest });
  if (plan.asks_for_revision) await checkAgent(context, client, file, plan);
  const isSelecting = fleet?.selector !== selector;
  const members = isSelecting ? await countMatching(client, selector) : (fleet.members ?? 0);
  if (printer.json) printer.jsonLine({ plan, members });
  else
    printer.line(`${renderFleetPlan(plan, printer.theme)}\n${membersText(members, isSelecting ? fleet : undefined)}`);
  if (plan.change === "none" && !plan.asks_for_revision) {
    if (printer.json) printer.jsonLine({ fleet: name, revision: last, changed: false });
    else printer.line(`Nothing to change. The newest revision is ${last}.`);
    return options.dryRun ? undefined : last;
  }
  if (options.dryRun) {
    if (!printer.json) printer.line("Nothing was changed.");
    return undefined;
  }
  if (!options.yes) await confirm(context, `Apply this to the fleet ${sanitizeLine(name)}?`);
  return carryOut(context, client, file, plan, { last, tag: found?.tag });
}

async function carryOut(
  context: Context,
  client: ApiClient,
  file: FleetFile,
  { change, asks_for_revision: asks }: FleetPlan,
  { last, tag }: { readonly last: number; readonly tag: string | undefined },
): Promise<number> {
  const { printer } = context;
  const { name, selector, apps, strategy, on_drift } = file.fleet;
  const fields = { selector, apps, strategy, on_drift };
  if (change === "create") await createFleet(client, { name, ...fields });
  // A field of the strategy that is not named stays, and this one has no default.
  if (change === "update") {
    const body = { ...fields, strategy: { max_download_bytes: null, ...strategy } };
    const hint = "Run the command again: it shows the difference to the fleet as it is now.";
    await ifUnchanged({ tag, what: `the fleet ${name}`, hint }, (headers) => updateFleet(client, name, body, headers));
  }
  const revision = asks ? await makeRevision(context, client, file, { change, last }) : last;
  if (printer.json) printer.jsonLine({ fleet: name, revision, changed: change !== "none" || revision !== last });
  else printer.line(sanitizeLine(doneText(name, change, revision, last)));
  return revision;
}

/** Errors: `AgentReleaseNotFound` before the fleet is made, which would stay without the revision. */
async function checkAgent(
  { printer }: Context,
  client: ApiClient,
  { agentVersion, fleet: { strategy } }: FleetFile,
  { agent }: FleetPlan,
): Promise<void> {
  if (agentVersion === undefined) return;
  const { agent_releases: releases } = await listAgentReleases(client);
  if (!releases.some(({ version }) => version === agentVersion)) {
    const code = "AgentReleaseNotFound";
    const message = `The service has no release ${agentVersion} of the agent.`;
    throw new Failure(message, { exitCode: EXIT.notFound, code, hint: hintFor(code) });
  }
  if (agent.length > 0 && strategy.waves.length === 0)
    printer.note(
      `The strategy has no waves: a rollout updates the agents of all members, up to ${strategy.max_parallel} at a time. ` +
        "To begin with one: strategy: {waves: [{limit: 1}, {limit: 10%}], stop_when: {failed: 1}}",
    );
}

async function makeRevision(
  context: Context,
  client: ApiClient,
  { fleet: { name }, apps: entries, absent, agentVersion, comment, uploads }: FleetFile,
  { change, last }: Pick<FleetPlan, "change"> & { readonly last: number },
): Promise<number> {
  const { printer } = context;
  // Sent as the file has it: the service says what it refuses.
  const all = [...entries, ...absent.map((each) => ({ name: each, absent: true }))] as RevisionBody["apps"];
  const body = {
    apps: all,
    ...(agentVersion !== undefined && { agent: { version: agentVersion } }),
    ...(comment !== undefined && { comment }),
  };
  const moved = moveContents(body, uploads);
  try {
    await sendUploads(context, client, moved.uploads);
    const { number } = await createRevision(client, name, moved.body);
    // Revisions have no state that a request could name: each is made from the file alone.
    if (number > last + 1)
      printer.note(
        `Revision ${number - 1} was made meanwhile, and ${number} takes nothing over from it. To see what differs: ` +
          `edgectl fleets diff ${name} ${number - 1} ${number}`,
      );
    return number;
  } catch (error) {
    if (change !== "none") printer.note(`${changeText(name, change)} and stays so, although its revision failed.`);
    throw error;
  }
}

function changeText(name: string, change: Exclude<FleetPlan["change"], "none">): string {
  return `Fleet ${name} is ${change === "create" ? "created" : "changed"}`;
}

function doneText(name: string, change: FleetPlan["change"], revision: number, last: number): string {
  const fleet = change === "none" ? "" : `${changeText(name, change)}. `;
  const isNew = revision !== last;
  return `${fleet}${isNew ? `Revision ${revision} is made.` : `The newest revision is ${revision} as before.`}`;
}

function membersText(members: number, before: Fleet | undefined): string {
  const now = `The selector matches ${assets(members)}`;
  return before ? `${now}; before: ${before.members ?? 0}.` : `${now}.`;
}

async function findFleet(client: ApiClient, name: string): Promise<Tagged<Fleet> | undefined> {
  try {
    return await readFleet(client, name);
  } catch (error) {
    if (error instanceof Failure && error.code === "FleetNotFound") return undefined;
    throw error;
  }
}
