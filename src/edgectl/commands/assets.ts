import { type Command, Option } from "commander";
import { unixNow } from "../../lib/clock.ts";
import { assetStatusSchema } from "../../protocol/assets/asset.ts";
import { ATTENTION_REASONS } from "../../protocol/assets/attention.ts";
import { MAX_PAGE_SIZE } from "../../protocol/limits.ts";
import { acceptDevice, type Asset, getAsset, listAssets } from "../api/assets.ts";
import { type ApiClient, fetchPages } from "../api/client.ts";
import { confirm, requireAnswer } from "../confirm.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { connect, type Context, createContext } from "../context.ts";
import { usageFailure } from "../failure.ts";
import type { Io } from "../io.ts";
import { renderAsset, renderAssets } from "../views/asset-view.ts";
import { addPagingOptions, ASSET, listPages, noteMorePages, type PagingOptions } from "./options.ts";

interface ListOptions extends PagingOptions {
  readonly status?: string;
  readonly type?: string;
  readonly q?: string;
  readonly connected?: boolean;
  readonly accepted?: boolean;
  readonly attention?: string | true;
  readonly agentVersion?: string;
  readonly selector?: string;
}

interface AcceptOptions {
  readonly selector?: string;
  readonly yes?: boolean;
}

export function addAssetsList(assets: Command, io: Io): void {
  const list = assets
    .command("list")
    .description("list the assets of your account")
    .addOption(new Option("--status <status>", "only those with this status").choices(assetStatusSchema.options))
    .option("--type <type>", "only those of this type")
    .option("--q <text>", "only those with this text in the name or serial number")
    .option("--connected", "only those whose device is connected")
    .option("--no-connected", "only those whose device is not connected")
    .option("--accepted", "only those whose device was accepted")
    .option("--no-accepted", "only those whose device waits for acceptance")
    .addOption(
      new Option("--attention [reason]", "only those that need attention, for this reason or any").choices([
        "any",
        ...ATTENTION_REASONS,
      ]),
    )
    .option("--agent-version <version>", "only those whose device has this version of edge-agent")
    .option("--selector <selector>", "only those that it matches, such as role=kiosk,region!=south");
  addPagingOptions(list).action(async (options: ListOptions, command: Command) => {
    const context = createContext(io, command);
    const { printer } = context;
    const client = await connect(context);
    const { status, type, q, connected, accepted, agentVersion, selector } = options;
    const attention = options.attention === true ? "any" : options.attention;
    const state = {
      connected: connected?.toString(),
      accepted: accepted?.toString(),
      attention,
      agent_version: agentVersion,
    };
    const filter = { status, type, q, selector, ...state };
    const { items, next } = await listPages(options, async (position) => {
      const page = await listAssets(client, { ...filter, ...position });
      return { items: page.assets, next: page.next_cursor };
    });
    printer.result({ assets: items, next_cursor: next }, () => renderAssets(items, printer.theme, printer.width));
    noteMorePages(printer, next);
  });
}

export function addAssetsShow(assets: Command, io: Io): void {
  assets
    .command("show")
    .description("show one asset and its SIMs")
    .argument(...ASSET)
    .action(async (asset: string, _options: unknown, command: Command) => {
      const context = createContext(io, command);
      const found = await getAsset(await connect(context), asset);
      context.printer.result(found, () => renderAsset(found, unixNow(io.clock), context.printer.theme));
    });
}

export function addAssetsAccept(assets: Command, io: Io): void {
  assets
    .command("accept")
    .description("accept the devices of assets: only then what fleets have for them is delivered, with secret values")
    .argument("[assets...]", "the assets: serial numbers, SIM SIDs, ICCIDs or UUIDs")
    .option(
      "--selector <selector>",
      "those that it matches, wait, and have a device that has connected; '*': any asset",
    )
    .option("-y, --yes", "do not ask")
    .addHelpText("after", ACCEPT_HELP)
    .action(async (given: readonly string[], { selector, yes = false }: AcceptOptions, command: Command) => {
      const context = createContext(io, command);
      if ((given.length === 0) === (selector === undefined))
        throw usageFailure("Say which assets: either their names, or a selector.", "Give ASSET…, or --selector S.");
      if (selector !== undefined) requireAnswer(context, yes, "accept these devices");
      const client = await connect(context);
      const names = selector === undefined ? given : await findWaiting(context, client, selector, yes);
      const accepted: Asset[] = [];
      // One after the other, so that what was accepted before a failure is known.
      for (const name of names) {
        accepted.push(await acceptDevice(client, name));
        context.printer.note(`The device of ${sanitizeLine(name)} is accepted.`);
      }
      context.printer.result({ assets: accepted }, () =>
        renderAssets(accepted, context.printer.theme, context.printer.width),
      );
    });
}

/**
 * Returns the serial numbers of assets that wait for acceptance and whose device has connected. Shows them and asks, unless `yes`. One whose
 * device is still to come is left out: who looks at the list cannot know which device that will be.
 */
async function findWaiting(
  context: Context,
  client: ApiClient,
  selector: string,
  yes: boolean,
): Promise<readonly string[]> {
  const { printer } = context;
  const { items } = await fetchPages(
    async (cursor) => {
      const page = await listAssets(client, { selector, accepted: "false", limit: MAX_PAGE_SIZE, cursor });
      return { items: page.assets, next: page.next_cursor };
    },
    { cursor: undefined, all: true },
  );
  const connected = items.filter(({ last_seen: lastSeen }) => typeof lastSeen === "number");
  const others = items.length - connected.length;
  if (others > 0)
    printer.note(`${others} more wait, and no device of them has connected: these are accepted by name only.`);
  if (connected.length > 0 && !yes) {
    if (!printer.json) printer.line(renderAssets(connected, printer.theme, printer.width));
    await confirm(context, `Accept ${connected.length === 1 ? "this device" : `these ${connected.length} devices`}?`);
  }
  return connected.map((asset) => asset.serial_number);
}

const ACCEPT_HELP = `
Examples:
  edgectl assets list --no-accepted
  edgectl assets accept GW-0001 GW-0002
  edgectl assets accept --selector role=kiosk`;
