import type { Command } from "commander";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { fetchPages } from "../api/paging.ts";
import { getRollout, listTargets, planRetry, retryRollout, type Target } from "../api/rollouts.ts";
import { MAX_PAGE_SIZE } from "../../protocol/limits.ts";
import { confirm, requireAnswer } from "../confirm.ts";
import { connect, createContext } from "../context.ts";
import type { Io } from "../io.ts";
import { findRolloutId, followHint } from "../runs/show-rollout.ts";
import { renderSummary } from "../views/rollout-summary.ts";
import { renderRollout } from "../views/rollout-view.ts";
import { retryText } from "../views/rollout-words.ts";
import { FLEET } from "./fleets.ts";
import { ID } from "./rollouts.ts";

/* What people do with a rollout that is over. */

export function addRolloutsRetry(rollouts: Command, io: Io): void {
  rollouts
    .command("retry")
    .description("make a rollout that takes only the assets on which one that is over has failed or was refused")
    .argument(...FLEET)
    .argument(...ID)
    .option("-y, --yes", "do not ask")
    .action(async (fleet: string, given: string | undefined, { yes = false }: { yes?: boolean }, command: Command) => {
      const context = createContext(io, command);
      const { printer } = context;
      requireAnswer(context, yes, "retry the rollout");
      const client = await connect(context);
      const id = await findRolloutId(client, fleet, given);
      // Nothing is announced that the service refuses.
      const plan = await planRetry(client, fleet, id);
      if (!printer.json) printer.line(sanitizeLine(`${id}: ${retryText(plan)}`));
      if (!yes && plan.under_way === null) await confirm(context, "Retry the rollout?");
      const made = await retryRollout(client, fleet, id);
      printer.result(
        made,
        () => `${renderRollout(made, printer.theme, printer.width)}\n\n${followHint(fleet, made.id)}`,
      );
    });
}

export function addRolloutsSummary(rollouts: Command, io: Io): void {
  rollouts
    .command("summary")
    .description("print what became of a rollout, with what failed and why, as text that can be sent")
    .argument(...FLEET)
    .argument(...ID)
    .action(async (fleet: string, given: string | undefined, _options: unknown, command: Command) => {
      const context = createContext(io, command);
      const client = await connect(context);
      const rollout = await getRollout(client, fleet, await findRolloutId(client, fleet, given));
      const { items } = await fetchPages<Target>(
        async (cursor) => {
          const query = { failed: "true", limit: MAX_PAGE_SIZE, cursor } as const;
          const page = await listTargets(client, fleet, rollout.id, query);
          return { items: page.targets, next: page.next_cursor };
        },
        { cursor: undefined, all: true },
      );
      context.printer.result({ rollout, failed: items }, () => renderSummary(rollout, items));
    });
}
