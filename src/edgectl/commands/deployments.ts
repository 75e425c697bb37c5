import { type Command, Option } from "commander";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { deploymentStatusSchema } from "../../protocol/deployments/deployment-event.ts";
import { cancelDeployment, getDeployment, listAccountDeployments, listDeployments } from "../api/deployments.ts";
import { connect, createContext } from "../context.ts";
import { type FollowFlags, runDeployment } from "../runs/run-deployment.ts";
import { EXIT, Failure, usageFailure } from "../failure.ts";
import type { Io } from "../io.ts";
import { renderDeployment, renderDeployments } from "../views/deployment-table.ts";
import {
  addPagingOptions,
  ASSET,
  listPages,
  noteMorePages,
  type PagingOptions,
  retryForOption,
  timeParser,
  timingsOption,
} from "./options.ts";

type WatchOptions = Omit<FollowFlags, "detach">;

const ID = ["<deployment>", "id of the deployment"] as const;

interface ListOptions extends PagingOptions {
  readonly status?: string;
  readonly app?: string;
  readonly selector?: string;
  readonly since?: number;
}

export function addDeploymentsList(deployments: Command, io: Io): void {
  const time = timeParser(io.clock, "Write 2026-11-01, 2026-11-01T12:00 (UTC), 24h or 7d ago, or Unix seconds.");
  const list = deployments
    .command("list")
    .description("list deployments, the newest first: of one asset, or of all of them")
    .argument("[asset]", `${ASSET[1]}; of all assets if not given`)
    .addOption(
      new Option("--status <status>", "of all assets: only those with this status").choices(
        deploymentStatusSchema.options,
      ),
    )
    .option("--app <name>", "of all assets: only those of this app")
    .option("--selector <selector>", "only those of assets that it matches, such as role=kiosk,region!=south")
    .option("--since <time>", "of all assets: only those requested since then", time);
  addPagingOptions(list).action(async (asset: string | undefined, options: ListOptions, command: Command) => {
    const context = createContext(io, command);
    const { printer } = context;
    const { status, app, selector, since } = options;
    const filter = { status, app, selector, since };
    if (asset !== undefined && Object.values(filter).some((value) => value !== undefined))
      throw usageFailure("The deployments of one asset cannot be filtered.", "Leave out the asset, or the options.");
    const client = await connect(context);
    const { items, next } = await listPages(options, async (position) => {
      const page =
        asset === undefined
          ? await listAccountDeployments(client, { ...filter, ...position })
          : await listDeployments(client, asset, position);
      return { items: page.deployments, next: page.next_cursor };
    });
    printer.result({ deployments: items, next_cursor: next }, () =>
      renderDeployments(items, printer.theme, printer.width, asset === undefined),
    );
    noteMorePages(printer, next);
  });
}

export function addDeploymentsShow(deployments: Command, io: Io): void {
  deployments
    .command("show")
    .description("show one deployment and how it ended")
    .argument(...ASSET)
    .argument(...ID)
    .action(async (asset: string, id: string, _options: unknown, command: Command) => {
      const context = createContext(io, command);
      const found = await getDeployment(await connect(context), asset, id);
      context.printer.result(found, () => {
        const shown = renderDeployment(found, context.printer.theme);
        // Its events say more than its message, such as which port is in use, and by what.
        const watch = `edgectl deployments watch ${sanitizeLine(asset)} ${sanitizeLine(found.deployment_id)}`;
        return found.status === "Fail" ? `${shown}\n\nTo see all that was said of it:\n  ${watch}` : shown;
      });
    });
}

export function addDeploymentsWatch(deployments: Command, io: Io): void {
  deployments
    .command("watch")
    .description("show a deployment's events from the first one to its end")
    .argument(...ASSET)
    .argument(...ID)
    .addOption(retryForOption())
    .addOption(timingsOption())
    .action(async (asset: string, id: string, options: WatchOptions, command: Command) => {
      const context = createContext(io, command);
      await runDeployment(context, await connect(context), { asset, deploymentId: id, ...options });
    });
}

export function addDeploymentsCancel(deployments: Command, io: Io): void {
  deployments
    .command("cancel")
    .description("stop a running deployment; whatever of it runs is undone")
    .argument(...ASSET)
    .argument(...ID)
    .action(async (asset: string, id: string, _options: unknown, command: Command) => {
      const context = createContext(io, command);
      const cancelled = await cancelDeployment(await connect(context), asset, id);
      context.printer.result(cancelled, () => renderDeployment(cancelled, context.printer.theme));
      if (cancelled.status === "Success") {
        throw new Failure("The deployment had succeeded already; nothing was cancelled.", { exitCode: EXIT.failed });
      }
    });
}
