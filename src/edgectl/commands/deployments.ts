import type { Command } from "commander";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { cancelDeployment, getDeployment, listDeployments } from "../api/deployments.ts";
import { connect, createContext } from "../context.ts";
import { type FollowFlags, runDeployment } from "../runs/run-deployment.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import type { Io } from "../io.ts";
import { renderDeployment, renderDeployments } from "../views/deployment-table.ts";
import { ASSET, retryForOption, timingsOption } from "./options.ts";
import { addPagingOptions, listPages, noteMorePages, type PagingOptions } from "./paging.ts";

type WatchOptions = Omit<FollowFlags, "detach">;

const ID = ["<deployment>", "id of the deployment"] as const;

export function addDeploymentsList(deployments: Command, io: Io): void {
  const list = deployments
    .command("list")
    .description("list the deployments of an asset, the newest first")
    .argument(...ASSET);
  addPagingOptions(list).action(async (asset: string, options: PagingOptions, command: Command) => {
    const context = createContext(io, command);
    const { printer } = context;
    const client = await connect(context);
    const { items, next } = await listPages(options, async (position) => {
      const page = await listDeployments(client, asset, position);
      return { items: page.deployments, next: page.next_cursor };
    });
    printer.result({ deployments: items, next_cursor: next }, () =>
      renderDeployments(items, printer.theme, printer.width),
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
