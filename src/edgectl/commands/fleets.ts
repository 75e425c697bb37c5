import type { Command } from "commander";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { getFleet, listFleets, listMembers, removeFleet } from "../api/fleets.ts";
import { diffRevisions, listRevisions } from "../api/revisions.ts";
import { confirm, requireAnswer } from "../confirm.ts";
import { connect, createContext } from "../context.ts";
import type { Io } from "../io.ts";
import { renderFleet, renderFleets, renderMembers, renderRevisionDiff, renderRevisions } from "../views/fleet-view.ts";
import { assets } from "../views/rollout-words.ts";
import { wholeNumber } from "./options.ts";
import { addPagingOptions, listPages, noteMorePages, type PagingOptions } from "./paging.ts";

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

export function addFleetsMembers(fleets: Command, io: Io): void {
  const members = fleets
    .command("members")
    .description("list the assets that a fleet's selector matches, with what they run")
    .argument(...FLEET);
  addPagingOptions(members).action(async (name: string, options: PagingOptions, command: Command) => {
    const context = createContext(io, command);
    const { printer } = context;
    const client = await connect(context);
    const { items, next } = await listPages(options, async (position) => {
      const page = await listMembers(client, name, position);
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
      const { members = 0, apps, last_revision: last } = await getFleet(client, name);
      const kept = `Its apps (${apps.join(", ")}) stay on ${assets(members)}, and belong to nobody.`;
      if (!printer.json)
        printer.line(sanitizeLine(`Removes ${name}, its revisions up to ${last} and its rollouts. ${kept}`));
      if (!yes) await confirm(context, `Remove the fleet ${sanitizeLine(name)}?`);
      await removeFleet(client, name);
      printer.result({ removed: name }, () => `${sanitizeLine(name)} is removed.`);
    });
}
