import { type Command, Option } from "commander";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { unixNow } from "../../lib/clock.ts";
import { assetStatusSchema } from "../../protocol/assets/asset.ts";
import type { ApiClient } from "../api/client.ts";
import { type Asset, type AssetChange, getAsset, updateAsset } from "../api/assets.ts";
import { listAssetSims } from "../api/sims.ts";
import { connect, type Context, createContext } from "../context.ts";
import { EXIT, Failure, usageFailure } from "../failure.ts";
import type { Io } from "../io.ts";
import { settleChange } from "../sims/settle.ts";
import { renderAsset } from "../views/asset-view.ts";
import { pendingText, simName } from "../sims/sim-words.ts";
import { ASSET, wholeNumber } from "./options.ts";

const DEFAULT_TIMEOUT_S = 600;
const MAX_TIMEOUT_S = 86_400;

interface UpdateOptions {
  readonly name?: string;
  readonly type?: string;
  readonly status?: string;
  readonly networkGroup?: string;
  readonly wait?: boolean;
  /** In seconds. */
  readonly timeout: number;
}

export function addAssetsUpdate(assets: Command, io: Io): void {
  assets
    .command("update")
    .description("change an asset: everything that is given, or nothing")
    .argument(...ASSET)
    .option("--name <name>", "display name")
    .option("--type <type>", "kind of device; fleets may select by it")
    .addOption(
      new Option("--status <status>", "activate or deactivate all SIMs of the asset").choices(
        assetStatusSchema.options,
      ),
    )
    .option("--network-group <group>", "network group of the Super SIM")
    .option("--wait", "wait until the SIM operators have confirmed what they have queued")
    .addOption(
      new Option("--timeout <seconds>", "how long to wait at most")
        .argParser(wholeNumber(1, MAX_TIMEOUT_S))
        .default(DEFAULT_TIMEOUT_S),
    )
    .addHelpText("after", HELP)
    .action(async (asset: string, options: UpdateOptions, command: Command) => {
      const context = createContext(io, command);
      const { printer } = context;
      const change = toChange(options);
      const client = await connect(context);
      let updated = await updateAsset(client, asset, change);
      const isPending = hasPending(updated);
      if (isPending && options.wait) {
        await notePending(context, client, asset);
        await settle(context, client, asset, options);
        updated = await getAsset(client, asset);
      }
      printer.result(updated, () => renderAsset(updated, unixNow(io.clock), printer.theme));
      if (!isPending || printer.json) return;
      if (options.wait) printer.line("The operators have confirmed the change.");
      else {
        await notePending(context, client, asset);
        printer.note(`The service goes on asking. To wait for it: --wait. To see it: edgectl sims show ${asset}`);
      }
    });
}

const HELP = `
Changes of SIMs are done at the companies that run them. Where one queues a change, the command says what is pending; the
service follows it up until it settles. With --wait the command ends then, or with exit code 1 after --timeout.

Example:
  edgectl assets update GW-0001 --status inactive --wait --timeout 900`;

function hasPending({ supersim, prosim }: Asset): boolean {
  return supersim?.pending !== undefined || prosim?.pending !== undefined;
}

/** Says for each SIM what is pending, with the state that it has now. */
async function notePending({ printer, io }: Context, client: ApiClient, asset: string): Promise<void> {
  if (printer.json) return;
  for (const sim of await listAssetSims(client, asset)) {
    if (sim.pending) printer.note(`${simName(sim.type)}: ${pendingText(sim.pending, unixNow(io.clock), sim)}.`);
  }
}

async function settle({ printer, io }: Context, client: ApiClient, asset: string, options: UpdateOptions) {
  const { status, networkGroup, timeout } = options;
  try {
    await settleChange({
      client,
      asset,
      wanted: { status, networkGroup },
      timeoutMs: timeout * 1000,
      clock: io.clock,
      signal: io.interrupted,
      onUnanswered: (why) => printer.note(`${why} Still waiting.`),
    });
  } catch (error) {
    if (!io.interrupted.aborted) throw error;
    throw new Failure("Interrupted. The change goes on.", {
      exitCode: EXIT.interrupted,
      hint: `To see how it is:\n  edgectl sims show ${sanitizeLine(asset)}`,
    });
  }
}

function toChange({ name, type, status, networkGroup }: UpdateOptions): AssetChange {
  const change: AssetChange = {};
  if (name !== undefined) change.name = name;
  if (type !== undefined) change.type = type;
  if (status !== undefined) change.status = status;
  if (networkGroup !== undefined) change.supersim = { network_group: networkGroup };
  if (Object.keys(change).length === 0) {
    throw usageFailure(
      "Nothing to change is given.",
      "Give at least one of --name, --type, --status and --network-group.",
    );
  }
  return change;
}
