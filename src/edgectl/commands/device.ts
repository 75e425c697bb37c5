import type { Command } from "commander";
import { getDevice } from "../api/device.ts";
import { connect, createContext } from "../context.ts";
import type { Io } from "../io.ts";
import { renderDevice } from "../views/device-view.ts";
import { printDeviceResult } from "../views/freshness.ts";
import { ASSET } from "./options.ts";

export function addDevice(program: Command, io: Io): void {
  program
    .command("device")
    .description("show an asset's device: link, versions, disk, memory, network, containers")
    .argument(...ASSET)
    .action(async (asset: string, _options: unknown, command: Command) => {
      const context = createContext(io, command);
      const { printer } = context;
      const device = await getDevice(await connect(context), asset);
      printDeviceResult(context, device, () => renderDevice(device, printer.theme, printer.width));
    });
}
