import { type Command, InvalidArgumentError, Option } from "commander";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { createRollout, type Rollout, type RolloutCreation } from "../api/rollouts.ts";
import type { ApiClient } from "../api/client.ts";
import { getFleet } from "../api/fleets.ts";
import { confirm, requireAnswer } from "../confirm.ts";
import { connect, type Context, createContext } from "../context.ts";
import { EXIT, Failure, usageFailure } from "../failure.ts";
import type { Io } from "../io.ts";
import { askPrice, followHint, type ShowOptions, showRollout } from "../runs/show-rollout.ts";
import { renderPrice, sortByPrice } from "../views/rollout-view.ts";
import { foreseenText, startText } from "../views/rollout-words.ts";
import { FLEET } from "./fleets.ts";
import { exitWhenWaitingOption, retryForOption, wholeNumber } from "./options.ts";

interface CreateOptions {
  readonly revision?: number;
  readonly dryRun?: boolean;
  readonly follow?: boolean;
  readonly exitWhenWaiting?: boolean;
  readonly plan?: string;
  readonly prices: boolean;
  readonly doneAt?: number | string;
  readonly refused?: string;
  readonly start: boolean;
  readonly yes?: boolean;
  readonly retryFor: number;
  readonly maxParallel?: number;
  readonly attempts?: number;
  readonly stopAt?: number | string;
  readonly onStop?: string;
  readonly requireApproval?: boolean;
}

const MAX_REVISION = 999_999_999;
const MAX_PARALLEL = 5_000;
const MAX_ATTEMPTS = 10;

export function addRolloutsCreate(rollouts: Command, io: Io): void {
  rollouts
    .command("create")
    .description("bring a revision to the members of a fleet, wave by wave; supersedes the rollout under way")
    .argument(...FLEET)
    .option("--revision <n>", "revision to bring (the newest if not given)", wholeNumber(1, MAX_REVISION))
    .option("--plan <id>", "start the plan that a dry run has shown: its revision, its strategy and its waves")
    .option("--dry-run", "make a plan only: show it, and what each connected member would download")
    .option("--no-prices", "with --dry-run: do not ask the members")
    .option("-f, --follow", "show how it goes until it ends")
    .addOption(exitWhenWaitingOption())
    .option("--no-start", "leave it a draft, which `edgectl rollouts resume` starts")
    .option("-y, --yes", "do not ask")
    .option("--max-parallel <n>", "how many assets are changed at a time", wholeNumber(1, MAX_PARALLEL))
    .option("--attempts <n>", "how often each asset is tried", wholeNumber(1, MAX_ATTEMPTS))
    .option("--stop-at <n>", "stop at so many failed assets, or at this share such as 5%", parseShare)
    .addOption(new Option("--on-stop <what>", "what happens then").choices(["pause", "rollback"]))
    .option("--done-at <n>", "end once so many assets, or this share such as 98%, have succeeded", parseShare)
    .addOption(new Option("--refused <what>", "what assets mean that refuse it").choices(["fail", "allow"]))
    .option("--require-approval", "let it wait until another person approves it")
    .addOption(retryForOption())
    .addHelpText("after", HELP)
    .action(async (fleet: string, options: CreateOptions, command: Command) => {
      const context = createContext(io, command);
      const { yes = false, dryRun = false } = options;
      if (options.plan !== undefined && (dryRun || hasChanges(options)))
        throw usageFailure(
          "A plan has its revision and its strategy.",
          "Leave out the other options, or make another plan.",
        );
      if (!dryRun) requireAnswer(context, yes, "start the rollout");
      const client = await connect(context);
      const body = await toBody(client, fleet, options);
      if (dryRun) await showPrice(context, client, fleet, body, options.prices);
      else await rollOut(context, client, fleet, body, { ...options, yes });
    });
}

/** Errors: exit code 1 if the rollout could not succeed. */
async function showPrice(
  context: Context,
  client: ApiClient,
  fleet: string,
  body: RolloutCreation,
  asksDevices: boolean,
): Promise<void> {
  const { printer } = context;
  const { price, assets: asked, problem } = await askPrice(context, client, fleet, body, { asksDevices });
  printer.result({ ...price, assets: sortByPrice(asked) }, () =>
    renderPrice(price, asked, { fleet, asksDevices }, printer.theme, printer.width),
  );
  if (problem !== undefined) throw new Failure(problem, { exitCode: EXIT.failed });
}

/** Makes a rollout, after asking. With `follow`, shows it until it ends. Errors: exit code 1 if the answer is no. */
export async function rollOut(
  context: Context,
  client: ApiClient,
  fleet: string,
  body: RolloutCreation,
  options: ShowOptions & { readonly yes: boolean; readonly follow?: boolean },
): Promise<void> {
  const { io, printer } = context;
  let request = body;
  if (!options.yes) {
    const { latest_rollout: latest, last_revision: last } = await getFleet(client, fleet);
    if (last === 0) throw withoutRevision(fleet);
    const { price } = await askPrice(context, client, fleet, body, { asksDevices: false });
    const { start } = body;
    request = { plan_id: price.plan_id, ...(start !== undefined && { start }) };
    const isUnderWay =
      latest !== null && !["succeeded", "failed", "cancelled", "superseded", "rolled_back"].includes(latest.state);
    const superseded = isUnderWay ? ` Supersedes that of revision ${latest.revision}, which is ${latest.state}.` : "";
    const starts = startText(price);
    const foreseen = foreseenText(price.foreseen);
    printer.line(sanitizeLine(`${starts}${superseded}`));
    if (foreseen !== "") printer.line(printer.theme.yellow(sanitizeLine(foreseen)));
    await confirm(context, body.start === false ? "Make the draft?" : "Start the rollout?");
  }
  const rollout = await createRollout(client, fleet, request, io.randomId());
  const foreseen = options.yes && rollout.foreseen ? foreseenText(rollout.foreseen) : "";
  if (foreseen !== "") printer.note(foreseen);
  if ((options.follow || options.exitWhenWaiting) && rollout.state !== "draft") {
    if (!printer.json) printer.line(sanitizeLine(`${rollout.id}: ${startText(rollout)}`));
    await showRollout(context, client, fleet, rollout.id, options);
    return;
  }
  const next = nextText(fleet, rollout);
  printer.result(rollout, () => `${sanitizeLine(`${rollout.id}: ${startText(rollout)}`)}\n${next}`);
}

/** The commands with which people go on. */
function nextText(fleet: string, { id, state }: Rollout): string {
  if (state === "draft") return `To start it:\n  edgectl rollouts resume ${fleet} ${id}`;
  if (state !== "awaiting_approval") return followHint(fleet, id);
  return `It waits until another person starts it:\n  edgectl rollouts approve ${fleet} ${id}\n${followHint(fleet, id)}`;
}

function withoutRevision(fleet: string): Failure {
  return new Failure(`The fleet ${fleet} has no revision.`, {
    exitCode: EXIT.failed,
    hint: "Make one with `edgectl fleets apply -f fleet.yaml`.",
  });
}

async function toBody(client: ApiClient, fleet: string, options: CreateOptions): Promise<RolloutCreation> {
  const { revision, plan, start, maxParallel, attempts, stopAt, onStop, requireApproval, doneAt, refused } = options;
  const strategy = {
    ...(maxParallel !== undefined && { max_parallel: maxParallel }),
    ...(attempts !== undefined && { attempts }),
    // The other field of the rule stays as the fleet has it.
    ...(stopAt !== undefined && { stop_when: { ...(await stopRuleOf(client, fleet)), failed: stopAt } }),
    ...(onStop !== undefined && { on_stop: onStop }),
    ...(doneAt !== undefined && { done_at: doneAt }),
    ...(refused !== undefined && { refused }),
    ...(requireApproval && { requires_approval: true }),
  };
  return {
    ...(plan !== undefined && { plan_id: plan }),
    ...(revision !== undefined && { revision }),
    ...(Object.keys(strategy).length > 0 && { strategy }),
    ...(!start && { start }),
  };
}

/** Whether options say what a plan has already. */
function hasChanges(options: CreateOptions): boolean {
  const { revision, maxParallel, attempts, stopAt, onStop, requireApproval, doneAt, refused } = options;
  return [revision, maxParallel, attempts, stopAt, onStop, requireApproval, doneAt, refused].some(
    (value) => value !== undefined,
  );
}

async function stopRuleOf(client: ApiClient, fleet: string): Promise<object> {
  const { strategy } = await getFleet(client, fleet);
  const rule = strategy["stop_when"];
  return typeof rule === "object" && rule !== null ? rule : {};
}

function parseShare(text: string): number | string {
  if (/^(?:100|[1-9][0-9]?)%$/.test(text)) return text;
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Give a number of assets, or 1% to 100%.");
}

const HELP = `
The strategy is the fleet's; what is given here is for this rollout only. What a
dry run shows can be started as it is, for seven days, with --plan.

Exit codes: with --dry-run 1 if so many members would refuse the revision that
the rollout could not succeed. With --follow: 0 the rollout succeeded; 1 it
failed, went back, was cancelled or was superseded; 6 with --exit-when-waiting:
it waits for people. Ctrl-C ends the command, not the rollout.

Examples:
  edgectl rollouts create kiosks --dry-run
  edgectl rollouts create kiosks --plan pln_2f6c1d9e8a7b4c3d5e6f7a8b --follow
  edgectl rollouts create kiosks --yes --done-at 98% --exit-when-waiting
  edgectl rollouts create kiosks --follow
  edgectl rollouts create kiosks --revision 6 --stop-at 5% --on-stop rollback`;
