import { type Command, Option } from "commander";
import { assetStatusSchema } from "../../protocol/asset.ts";
import { type AssetChange, updateAsset } from "../api/assets.ts";
import { connect, createContext } from "../context.ts";
import { usageFailure } from "../failure.ts";
import type { Io } from "../io.ts";
import { renderAsset } from "../views/asset-view.ts";

interface UpdateOptions {
  readonly name?: string;
  readonly status?: string;
  readonly networkGroup?: string;
}

export function addAssetsUpdate(assets: Command, io: Io): void {
  assets
    .command("update")
    .description("change an asset: everything that is given, or nothing")
    .argument("<asset>", "serial number, SIM SID, ICCID or UUID")
    .option("--name <name>", "display name")
    .addOption(
      new Option("--status <status>", "activate or deactivate all SIMs of the asset").choices(
        assetStatusSchema.options,
      ),
    )
    .option("--network-group <group>", "network group of the Super SIM")
    .action(async (asset: string, options: UpdateOptions, command: Command) => {
      const context = createContext(io, command);
      const change = toChange(options);
      const updated = await updateAsset(await connect(context), asset, change);
      context.printer.result(updated, () => renderAsset(updated, context.printer.theme));
    });
}

function toChange({ name, status, networkGroup }: UpdateOptions): AssetChange {
  const change: AssetChange = {};
  if (name !== undefined) change.name = name;
  if (status !== undefined) change.status = status;
  if (networkGroup !== undefined) change.supersim = { network_group: networkGroup };
  if (Object.keys(change).length === 0) {
    throw usageFailure("It is not said what to change.", "Give at least one of --name, --status and --network-group.");
  }
  return change;
}
