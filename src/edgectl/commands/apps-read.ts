import type { Command } from "commander";
import { getApp, listApps } from "../api/apps.ts";
import { connect, createContext } from "../context.ts";
import type { Io } from "../io.ts";
import { renderApp, renderApps } from "../views/app-view.ts";
import { printDeviceResult } from "../views/freshness.ts";
import { APP, ASSET } from "./options.ts";

export function addAppsList(apps: Command, io: Io): void {
  apps
    .command("list")
    .description("list the apps of a device and how they are")
    .argument(...ASSET)
    .action(async (asset: string, _options: unknown, command: Command) => {
      const context = createContext(io, command);
      const { printer } = context;
      const list = await listApps(await connect(context), asset);
      printDeviceResult(context, list, () => renderApps(list.apps, printer.theme, printer.width));
    });
}

export function addAppsShow(apps: Command, io: Io): void {
  apps
    .command("show")
    .description("show one app: how it is, and what it was deployed with")
    .argument(...ASSET)
    .argument(...APP)
    .option("--reveal", "ask the device for the values of its variables, which are masked otherwise")
    .action(async (asset: string, name: string, { reveal = false }: { reveal?: boolean }, command: Command) => {
      const context = createContext(io, command);
      const app = await getApp(await connect(context), asset, name, reveal);
      printDeviceResult(context, app, () => renderApp(app, context.printer.theme));
    });
}
