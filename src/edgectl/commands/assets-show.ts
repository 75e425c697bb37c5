import type { Command } from "commander";
import { getAsset } from "../api/assets.ts";
import { connect, createContext } from "../context.ts";
import type { Io } from "../io.ts";
import { renderAsset } from "../views/asset-view.ts";

export function addAssetsShow(assets: Command, io: Io): void {
  assets
    .command("show")
    .description("show one asset and its SIMs")
    .argument("<asset>", "serial number, SIM SID, ICCID or UUID")
    .action(async (asset: string, _options: unknown, command: Command) => {
      const context = createContext(io, command);
      const found = await getAsset(await connect(context), asset);
      context.printer.result(found, () => renderAsset(found, context.printer.theme));
    });
}
