import type { Command } from "commander";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import {
  commandRollout,
  type RolloutCommand,
  getRollout,
  listRollouts,
  listTargets,
  planRetry,
  retryRollout,
  type Target,
} from "../api/rollouts.ts";
import { rolloutEvents } from "../api/rollout-streams.ts";
import { confirm, requireAnswer } from "../confirm.ts";
import { connect, createContext } from "../context.ts";
import type { Io } from "../io.ts";
import { findRolloutId, followHint, showRollout } from "../runs/show-rollout.ts";
import { createRolloutView } from "../views/rollout-progress.ts";
import { renderRollout, renderRollouts, renderSummary, renderTargets } from "../views/rollout-view.ts";
import { EFFECTS, retryText } from "../views/rollout-words.ts";
import { FLEET } from "./fleets.ts";
import {
  addPagingOptions,
  exitWhenWaitingOption,
  listPages,
  noteMorePages,
  type PagingOptions,
  retryForOption,
  wholeNumber,
} from "./options.ts";
import { fetchPages } from "../api/client.ts";
import { MAX_PAGE_SIZE } from "../../protocol/limits.ts";

/** The argument that names a rollout. */
const ID = ["[rollout]", "id of the rollout; the newest one of the fleet if not given"] as const;

/** Highest number of a wave that the service takes. */
const MAX_WAVE = 1_000;

export function addRolloutsList(rollouts: Command, io: Io): void {
  const list = rollouts
    .command("list")
    .description("list the rollouts of a fleet, the newest first")
    .argument(...FLEET);
  addPagingOptions(list).action(async (fleet: string, options: PagingOptions, command: Command) => {
    const context = createContext(io, command);
    const { printer } = context;
    const client = await connect(context);
    const { items, next } = await listPages(options, async (position) => {
      const page = await listRollouts(client, fleet, position);
      return { items: page.rollouts, next: page.next_cursor };
    });
    printer.result({ rollouts: items, next_cursor: next }, () => renderRollouts(items, printer.theme, printer.width));
    noteMorePages(printer, next);
  });
}

export function addRolloutsShow(rollouts: Command, io: Io): void {
  rollouts
    .command("show")
    .description("show a rollout: its waves, and how many assets are in which state")
    .argument(...FLEET)
    .argument(...ID)
    .action(async (fleet: string, id: string | undefined, _options: unknown, command: Command) => {
      const context = createContext(io, command);
      const { printer } = context;
      const client = await connect(context);
      const found = await getRollout(client, fleet, await findRolloutId(client, fleet, id));
      printer.result(found, () => renderRollout(found, printer.theme, printer.width));
    });
}

interface TargetOptions extends PagingOptions {
  readonly state?: string;
  readonly wave?: number;
  readonly failed?: boolean;
}

export function addRolloutsTargets(rollouts: Command, io: Io): void {
  const targets = rollouts
    .command("targets")
    .description("list the assets of a rollout, with their states and what went wrong")
    .argument(...FLEET)
    .argument(...ID)
    .option("--state <states>", "only those in one of these states, such as failed,lost")
    .option("--failed", "only those that have failed or refused, also if they have gone back since")
    .option("--wave <n>", "only those of the wave with this number", wholeNumber(1, MAX_WAVE));
  addPagingOptions(targets).action(
    async (fleet: string, given: string | undefined, options: TargetOptions, command: Command) => {
      const context = createContext(io, command);
      const { printer } = context;
      const { state, wave, failed } = options;
      const client = await connect(context);
      const id = await findRolloutId(client, fleet, given);
      const { items, next } = await listPages(options, async (position) => {
        const page = await listTargets(client, fleet, id, {
          ...position,
          state,
          wave,
          failed: failed ? "true" : undefined,
        });
        return { items: page.targets, next: page.next_cursor };
      });
      printer.result({ targets: items, next_cursor: next }, () => renderTargets(items, printer.theme, printer.width));
      noteMorePages(printer, next);
    },
  );
}

interface EventOptions {
  readonly follow?: boolean;
  readonly exitWhenWaiting?: boolean;
  readonly retryFor: number;
}

export function addRolloutsEvents(rollouts: Command, io: Io): void {
  rollouts
    .command("events")
    .description("show what has happened in a rollout")
    .argument(...FLEET)
    .argument(...ID)
    .option("-f, --follow", "go on until the rollout ends, also after the connection was lost")
    .addOption(exitWhenWaitingOption())
    .addOption(retryForOption())
    .addHelpText("after", FOLLOW_HELP)
    .action(async (fleet: string, given: string | undefined, options: EventOptions, command: Command) => {
      const context = createContext(io, command);
      const client = await connect(context);
      const id = await findRolloutId(client, fleet, given);
      if (options.follow || options.exitWhenWaiting) {
        await showRollout(context, client, fleet, id, options);
        return;
      }
      const { counts, state, wave } = await getRollout(client, fleet, id);
      const now = JSON.stringify([state, wave, sorted(counts)]);
      using view = createRolloutView(io, context.printer);
      for await (const event of rolloutEvents(client, fleet, id, { clock: io.clock, signal: io.interrupted })) {
        view.onEvent(event);
        if (JSON.stringify([event.state, event.wave, sorted(event.counts)]) === now) break;
      }
    });
}

function sorted(counts: Readonly<Record<string, number>>): unknown {
  return Object.entries(counts).toSorted(([one], [other]) => (one < other ? -1 : 1));
}

const COMMANDS: Readonly<Record<RolloutCommand, string>> = {
  pause: "let nothing begin any more; deployments under way end",
  resume: "start a draft, or let a paused rollout go on",
  advance: "let the next wave begin",
  approve: "start a rollout that another person has made and that awaits approval",
  cancel: "end a rollout as it is; nothing goes back",
  rollback: "go back to the stable revision on every asset that was attempted",
};

/** Adds the commands that change a rollout. Each says what it touches before it asks. */
export function addRolloutsCommands(rollouts: Command, io: Io): void {
  for (const name of Object.keys(COMMANDS) as RolloutCommand[]) {
    rollouts
      .command(name)
      .description(COMMANDS[name])
      .argument(...FLEET)
      .argument(...ID)
      .option("-y, --yes", "do not ask")
      .action(
        async (fleet: string, given: string | undefined, { yes = false }: { yes?: boolean }, command: Command) => {
          const context = createContext(io, command);
          const { printer } = context;
          requireAnswer(context, yes, `${name} the rollout`);
          const client = await connect(context);
          const before = await getRollout(client, fleet, await findRolloutId(client, fleet, given));
          // Nothing is announced that the service refuses.
          await commandRollout(client, fleet, before, name, { isDryRun: true });
          if (!printer.json) printer.line(sanitizeLine(`${before.id}: ${EFFECTS[name]?.(before) ?? ""}`));
          if (!yes)
            await confirm(
              context,
              `${name} the rollout?`.replace(/^./, (letter) => letter.toUpperCase()),
            );
          const after = await commandRollout(client, fleet, before, name);
          printer.result(after, () => renderRollout(after, printer.theme, printer.width));
        },
      );
  }
}

const FOLLOW_HELP = `
Exit codes with --follow: 0 the rollout succeeded; 1 it failed, went back, was
cancelled or was superseded; 6 with --exit-when-waiting: it waits for people, as
a paused one does. Without that, it is followed until a person lets it go on or
ends it. Ctrl-C ends the command, not the rollout.`;

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
