import type { Command } from "commander";
import { getApp, listApps } from "../api/apps.ts";
import { connect, createContext } from "../context.ts";
import type { Io } from "../io.ts";
import { freshnessNote, renderApp, renderApps } from "../views/app-view.ts";
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
      printer.result(list, () => renderApps(list.apps, printer.theme, printer.width));
      const note = freshnessNote(list, io.clock.now());
      if (note !== undefined && !printer.json) printer.note(note);
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
      const { printer } = context;
      const app = await getApp(await connect(context), asset, name, reveal);
      printer.result(app, () => renderApp(app, printer.theme));
      const note = freshnessNote(app, io.clock.now());
      if (note !== undefined && !printer.json) printer.note(note);
    });
}
