import type { Command } from "commander";
import { getDevice, listVolumes, removeVolume } from "../api/device.ts";
import { connect, createContext } from "../context.ts";
import type { Io } from "../io.ts";
import { renderDevice, renderVolumes } from "../views/device-view.ts";
import { printDeviceResult } from "../views/app-view.ts";
import { ASSET } from "./options.ts";
import { EXIT, Failure, usageFailure } from "../failure.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";

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

export function addVolumesList(volumes: Command, io: Io): void {
  volumes
    .command("list")
    .description("list the volumes that a device's agent manages, and the apps that have them")
    .argument(...ASSET)
    .option("--size", "measure them, for which the device reads all their directories")
    .action(async (asset: string, { size = false }: { readonly size?: boolean }, command: Command) => {
      const context = createContext(io, command);
      const { printer } = context;
      const list = await listVolumes(await connect(context), asset, size);
      printer.result(list, () => renderVolumes(list, size, printer.theme, printer.width));
    });
}

export function addVolumesRemove(volumes: Command, io: Io): void {
  volumes
    .command("remove")
    .description("delete a volume that no app has, with its data")
    .argument(...ASSET)
    .argument("<volume>", "name of the volume")
    .option("-y, --yes", "delete it without asking")
    .action(async (asset: string, name: string, { yes = false }: { readonly yes?: boolean }, command: Command) => {
      const context = createContext(io, command);
      if (!yes && !io.stdin.isTTY) {
        throw usageFailure(
          "There is no terminal to ask on whether to delete the volume.",
          "Give --yes to delete it without asking.",
        );
      }
      const client = await connect(context);
      if (!yes) await confirm(io, asset, name);
      await removeVolume(client, asset, name, io.interrupted);
      context.printer.result({ removed: name }, () => `Volume ${name} is deleted.`);
    });
}

async function confirm(io: Io, asset: string, name: string): Promise<void> {
  const answer = await io.stdin.ask(
    `Delete the volume ${sanitizeLine(name)} of ${sanitizeLine(asset)} with its data? [y/N] `,
  );
  if (/^y(es)?$/i.test(answer.trim())) return;
  throw new Failure("Nothing was deleted.", { exitCode: EXIT.failed });
}
