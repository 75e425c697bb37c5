import { type Command, Option } from "commander";
import { unixNow } from "../../lib/clock.ts";
import { assetStatusSchema } from "../../protocol/assets/asset.ts";
import { ATTENTION_REASONS } from "../../protocol/assets/attention.ts";
import { acceptDevice, type Asset, getAsset, listAssets } from "../api/assets.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { connect, createContext } from "../context.ts";
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
    .argument("<assets...>", "the assets: serial numbers, SIM SIDs, ICCIDs or UUIDs")
    .addHelpText("after", "\nExamples:\n  edgectl assets list --no-accepted\n  edgectl assets accept GW-0001 GW-0002")
    .action(async (names: readonly string[], _options: unknown, command: Command) => {
      const context = createContext(io, command);
      const client = await connect(context);
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
