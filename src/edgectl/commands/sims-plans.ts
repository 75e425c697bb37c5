import { type Command, InvalidArgumentError, Option } from "commander";
import { unixNow } from "../../lib/clock.ts";
import { formatBytes } from "../../lib/terminal/bytes.ts";
import { type PlanDeployments, planDeploymentsSchema } from "../../protocol/assets/data-plan.ts";
import type { SimType } from "../../protocol/assets/sim.ts";
import type { ApiClient } from "../api/client.ts";
import {
  type Allowance,
  changePlanSettings,
  getAllowance,
  getPlanSettings,
  removeAllowance,
  setAllowance,
} from "../api/sims.ts";
import { ServiceFailure } from "../api/service-failure.ts";
import { connect, type Context, createContext } from "../context.ts";
import { parseSize } from "../deploy/parse-options.ts";
import { usageFailure } from "../failure.ts";
import type { Io } from "../io.ts";
import { findSims } from "../sims/read-sims.ts";
import { renderAllowance, sourceText } from "../views/sim-view.ts";
import { simName } from "../sims/sim-words.ts";
import { ASSET } from "./options.ts";
import { simArgument } from "./sims.ts";

interface AllowanceOptions {
  readonly clear?: boolean;
}

export function addSimsAllowance(sims: Command, io: Io): void {
  sims
    .command("allowance")
    .description("show the monthly allowance of a SIM, set it by hand, or remove what was set")
    .argument(...ASSET)
    .addArgument(simArgument("<type>"))
    .argument("[bytes]", "bytes in a calendar month, such as 500MB or 1GB", parseAllowance)
    .option("--clear", "remove what was set by hand: what the operator says counts again")
    .addHelpText("after", ALLOWANCE_HELP)
    .action(
      async (asset: string, type: SimType, bytes: number | undefined, options: AllowanceOptions, command: Command) => {
        const context = createContext(io, command);
        if (bytes !== undefined && options.clear) throw usageFailure("Give a size or --clear, not both.");
        const client = await connect(context);
        if (options.clear) await clearAllowance(context, client, asset, type);
        else if (bytes === undefined) await showAllowance(context, client, asset, type);
        else await changeAllowance(context, client, asset, type, bytes);
      },
    );
}

const ALLOWANCE_HELP = `
An allowance begins anew with each month in UTC. One that is set by hand takes precedence over what the operator says, such as
the limit of a Super SIM's fleet. It limits nothing by itself: see \`edgectl sims settings\`.

Examples:
  edgectl sims allowance GW-0001 supersim 500MB
  edgectl sims allowance GW-0001 supersim --clear`;

/** Parses a size of at least one byte. */
function parseAllowance(text: string): number {
  const bytes = parseSize(text);
  if (bytes < 1) throw new InvalidArgumentError("Give at least 1 byte; --clear removes an allowance.");
  return bytes;
}

async function showAllowance(context: Context, client: ApiClient, asset: string, type: SimType): Promise<void> {
  const value = await getAllowance(client, asset, type);
  printAllowance(context, type, value);
}

function printAllowance({ printer, io }: Context, type: SimType, value: Allowance): void {
  const { theme } = printer;
  printer.result(value, () => renderAllowance(value, type, unixNow(io.clock), theme));
}

async function changeAllowance(
  context: Context,
  client: ApiClient,
  asset: string,
  type: SimType,
  bytes: number,
): Promise<void> {
  const { printer } = context;
  try {
    const value = await setAllowance(client, asset, type, bytes);
    printAllowance(context, type, value);
  } catch (error) {
    if (!(error instanceof ServiceFailure) || error.code !== "SimOperatorFailed") throw error;
    // It is stored before the operator is asked for the usage.
    const { allowance } = await findOne(client, asset, type);
    if (allowance?.bytes !== bytes || allowance.source !== "manual") throw error;
    printer.result(allowance, () => `The allowance of the ${simName(type)} is ${formatBytes(bytes)} a month.`);
    printer.note(`How much of it is used is not known yet: ${error.message}`);
  }
}

async function clearAllowance(context: Context, client: ApiClient, asset: string, type: SimType): Promise<void> {
  await removeAllowance(client, asset, type);
  const { allowance } = await findOne(client, asset, type);
  context.printer.result({ allowance: allowance ?? null }, () =>
    allowance
      ? `None is set by hand. What counts is ${formatBytes(allowance.bytes)} a month, ${sourceText(allowance.source, type)}.`
      : "None is set by hand, and the operator says none.",
  );
}

async function findOne(client: ApiClient, asset: string, type: SimType) {
  const [sim] = await findSims(client, asset, type);
  if (!sim) throw new TypeError("there is at least one SIM");
  return sim;
}

interface SettingsOptions {
  readonly deployments?: PlanDeployments;
}

const MEANINGS: Readonly<Record<PlanDeployments, string>> = {
  ignore: "they are carried out",
  wait: "they wait until the next month, a larger allowance or another setting; urgent ones do not",
  urgent: "they fail with DataBudgetExceeded; urgent ones do not",
};

export function addSimsSettings(sims: Command, io: Io): void {
  sims
    .command("settings")
    .description("show or change what becomes of deployments to assets with a used-up allowance")
    .addOption(
      new Option("--deployments <choice>", "what becomes of them, in the whole account").choices(
        planDeploymentsSchema.options,
      ),
    )
    .addHelpText("after", SETTINGS_HELP)
    .action(async ({ deployments }: SettingsOptions, command: Command) => {
      const context = createContext(io, command);
      const { printer } = context;
      const client = await connect(context);
      const settings = await (deployments === undefined
        ? getPlanSettings(client)
        : changePlanSettings(client, deployments));
      const { deployments: choice } = settings;
      printer.result(settings, () => `Deployments to assets with a used-up allowance: ${choice}: ${MEANINGS[choice]}.`);
    });
}

const SETTINGS_HELP = `
Choices:
  ignore  deployments are carried out (the default)
  wait    those that may download wait until the allowance allows them again
  urgent  those that may download fail with DataBudgetExceeded
A deployment with --urgent is carried out in any case. Changing this takes the role admin.`;
