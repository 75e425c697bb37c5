import type { Command } from "commander";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { getAsset } from "../api/assets.ts";
import {
  diffRevisions,
  getFleet,
  listFleets,
  listMembers,
  listRevisions,
  readFleet,
  reapplyFleet,
  removeFleet,
} from "../api/fleets.ts";
import { ifUnchanged } from "../api/if-unchanged.ts";
import { confirm, requireAnswer } from "../confirm.ts";
import { connect, createContext } from "../context.ts";
import type { Io } from "../io.ts";
import {
  renderFleet,
  renderFleets,
  renderMembers,
  renderReapplied,
  renderRevisionDiff,
  renderRevisions,
} from "../views/fleet-view.ts";
import { assets } from "../views/rollout-words.ts";
import { addPagingOptions, listPages, noteMorePages, type PagingOptions, wholeNumber } from "./options.ts";

/** The argument that names a fleet. */
export const FLEET = ["<fleet>", "name of the fleet"] as const;

const MAX_REVISION = 999_999_999;

export function addFleetsList(fleets: Command, io: Io): void {
  const list = fleets.command("list").description("list the fleets of your account");
  addPagingOptions(list).action(async (options: PagingOptions, command: Command) => {
    const context = createContext(io, command);
    const { printer } = context;
    const client = await connect(context);
    const { items, next } = await listPages(options, async (position) => {
      const page = await listFleets(client, position);
      return { items: page.fleets, next: page.next_cursor };
    });
    printer.result({ fleets: items, next_cursor: next }, () => renderFleets(items, printer.theme, printer.width));
    noteMorePages(printer, next);
  });
}

export function addFleetsShow(fleets: Command, io: Io): void {
  fleets
    .command("show")
    .description("show a fleet, its strategy and its newest rollout")
    .argument(...FLEET)
    .action(async (name: string, _options: unknown, command: Command) => {
      const context = createContext(io, command);
      const found = await getFleet(await connect(context), name);
      context.printer.result(found, () => renderFleet(found, context.printer.theme));
    });
}

interface MemberOptions extends PagingOptions {
  readonly state?: string;
}

export function addFleetsMembers(fleets: Command, io: Io): void {
  const members = fleets
    .command("members")
    .description("list the assets that a fleet's selector matches, with what they run")
    .argument(...FLEET);
  members.option("--state <states>", "only those in one of these states, such as drifted,missing");
  addPagingOptions(members).action(async (name: string, options: MemberOptions, command: Command) => {
    const context = createContext(io, command);
    const { printer } = context;
    const client = await connect(context);
    const { items, next } = await listPages(options, async (position) => {
      const page = await listMembers(client, name, { ...position, state: options.state });
      return { items: page.members, next: page.next_cursor };
    });
    printer.result({ members: items, next_cursor: next }, () => renderMembers(items, printer.theme, printer.width));
    noteMorePages(printer, next);
  });
}

export function addFleetsRevisions(fleets: Command, io: Io): void {
  const revisions = fleets
    .command("revisions")
    .description("list the revisions of a fleet, the newest first")
    .argument(...FLEET);
  addPagingOptions(revisions).action(async (name: string, options: PagingOptions, command: Command) => {
    const context = createContext(io, command);
    const { printer } = context;
    const client = await connect(context);
    const { items, next } = await listPages(options, async (position) => {
      const page = await listRevisions(client, name, position);
      return { items: page.revisions, next: page.next_cursor };
    });
    printer.result({ revisions: items, next_cursor: next }, () => renderRevisions(items, printer.theme, printer.width));
    noteMorePages(printer, next);
  });
}

export function addFleetsDiff(fleets: Command, io: Io): void {
  const number = wholeNumber(1, MAX_REVISION);
  fleets
    .command("diff")
    .description("show which apps and fields differ between two revisions, without values")
    .argument(...FLEET)
    .argument("<from>", "number of a revision", number)
    .argument("<to>", "number of the one to compare it with", number)
    .action(async (name: string, from: number, to: number, _options: unknown, command: Command) => {
      const context = createContext(io, command);
      const diff = await diffRevisions(await connect(context), name, from, to);
      context.printer.result(diff, () => renderRevisionDiff(diff, context.printer.theme));
    });
}

const REAPPLIED = ["drifted", "missing"];

interface ReapplyOptions {
  readonly asset: readonly string[];
  readonly startStopped?: boolean;
  readonly outdated?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

export function addFleetsReapply(fleets: Command, io: Io): void {
  fleets
    .command("reapply")
    .description("bring the stable revision again to members that are drifted or missing")
    .argument(...FLEET)
    .option(
      "--asset <asset>",
      "only this member: serial number, SIM SID, ICCID or UUID; may be repeated",
      (asset: string, all: readonly string[]) => [...all, asset],
      [] as readonly string[],
    )
    .option("--start-stopped", "also members on which people have stopped an app, which is started")
    .option("--outdated", "also members that run another revision")
    .option("--dry-run", "say which members that would be, and what is wrong with them")
    .option("-y, --yes", "do not ask")
    .action(async (name: string, options: ReapplyOptions, command: Command) => {
      const context = createContext(io, command);
      const { printer } = context;
      const { asset, startStopped, outdated, dryRun = false, yes = false } = options;
      if (!dryRun) requireAnswer(context, yes, "reapply the fleet");
      const client = await connect(context);
      const states = [...REAPPLIED, ...(startStopped ? ["stopped_by_hand"] : []), ...(outdated ? ["outdated"] : [])];
      const chosen = await Promise.all(asset.map((identifier) => getAsset(client, identifier)));
      const body = { states, ...(chosen.length > 0 && { asset_ids: chosen.map(({ uuid }) => uuid) }) };
      const planned = await reapplyFleet(client, name, body, true);
      if (dryRun || planned.assets === 0) {
        printer.result(planned, () =>
          planned.assets === 0
            ? `No member is ${states.join(" or ")}.`
            : renderReapplied(planned, printer.theme, printer.width),
        );
        return;
      }
      if (!printer.json) {
        printer.line(renderReapplied(planned, printer.theme, printer.width));
        printer.line(sanitizeLine(`Brings the stable revision of ${name} to ${assets(planned.assets)} again.`));
      }
      if (!yes) await confirm(context, `Reapply the fleet ${sanitizeLine(name)}?`);
      const done = await reapplyFleet(client, name, body, false);
      printer.result(
        done,
        () => `${assets(done.assets)} will be put right, within the windows and bounds of the fleet.`,
      );
    });
}

export function addFleetsRemove(fleets: Command, io: Io): void {
  fleets
    .command("remove")
    .description("remove a fleet with its revisions and rollouts; its apps stay on the devices")
    .argument(...FLEET)
    .option("-y, --yes", "do not ask")
    .action(async (name: string, { yes = false }: { readonly yes?: boolean }, command: Command) => {
      const context = createContext(io, command);
      const { printer } = context;
      requireAnswer(context, yes, "remove the fleet");
      const client = await connect(context);
      const { value: fleet, tag } = await readFleet(client, name);
      const { owned_assets: owned = 0, apps, last_revision: last } = fleet;
      const kept =
        owned === 0
          ? "It has brought its apps to no asset."
          : `What it has brought of its apps (${apps.join(", ")}) stays on ${assets(owned)}, and belongs to no fleet.`;
      if (!printer.json)
        printer.line(sanitizeLine(`Removes ${name}, its revisions up to ${last} and its rollouts. ${kept}`));
      if (!yes) await confirm(context, `Remove the fleet ${sanitizeLine(name)}?`);
      const what = `the fleet ${name}`;
      const hint = "Run the command again: it says what would be removed now.";
      await ifUnchanged({ tag, what, hint }, (headers) => removeFleet(client, name, headers));
      printer.result({ removed: name }, () => `${sanitizeLine(name)} is removed.`);
    });
}
