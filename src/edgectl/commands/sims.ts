import { Argument, type Command, Option } from "commander";
import { unixNow } from "../../lib/clock.ts";
import { type SimType, simTypeSchema } from "../../protocol/assets/sim.ts";
import { listSims } from "../api/sims.ts";
import { connect, createContext } from "../context.ts";
import type { Io } from "../io.ts";
import { readSimDetails } from "../sims/read-sims.ts";
import { refreshSims } from "../sims/refresh.ts";
import { renderRefreshed, renderSimDetails, renderSims } from "../views/sim-view.ts";
import { addPagingOptions, ASSET, listPages, noteMorePages, type PagingOptions } from "./options.ts";

interface ListOptions extends PagingOptions {
  readonly type?: SimType;
  readonly attention?: string | true;
}

/** The argument that names one SIM of an asset. */
export function simArgument(name: "<type>" | "[type]"): Argument {
  const what = name === "[type]" ? "which of the asset's SIMs; each if not given" : "which of the asset's SIMs";
  return new Argument(name, what).choices(simTypeSchema.options);
}

export function addSimsList(sims: Command, io: Io): void {
  const list = sims
    .command("list")
    .description("list the SIMs of your account as their operators had them last")
    .addOption(new Option("--type <type>", "only SIMs of this type").choices(simTypeSchema.options))
    .addOption(
      new Option("--attention [reason]", "only those whose monthly allowance is used up, or will be").choices(["data"]),
    )
    .addHelpText("after", LIST_HELP);
  addPagingOptions(list).action(async (options: ListOptions, command: Command) => {
    const context = createContext(io, command);
    const { printer } = context;
    const client = await connect(context);
    const filter = { type: options.type, attention: options.attention === true ? "data" : options.attention };
    const { items, next } = await listPages(options, async (position) => {
      const page = await listSims(client, { ...filter, ...position });
      return { items: page.sims, next: page.next_cursor };
    });
    printer.result({ sims: items, next_cursor: next }, () =>
      renderSims(items, unixNow(io.clock), printer.theme, printer.width),
    );
    noteMorePages(printer, next);
  });
}

const LIST_HELP = `
Nothing is asked of an operator for it: each SIM is read once a day, and by \`edgectl sims refresh\`. Use and forecast of an
allowance are judged every one to six hours; \`?\`: not yet this month. Units are decimal: 1 MB is 1,000,000 bytes.`;

export function addSimsShow(sims: Command, io: Io): void {
  sims
    .command("show")
    .description("show an asset's SIMs: state, allowance, and the operator's count beside the agent's")
    .argument(...ASSET)
    .addArgument(simArgument("[type]"))
    .addHelpText("after", SHOW_HELP)
    .action(async (asset: string, type: SimType | undefined, _options: unknown, command: Command) => {
      const context = createContext(io, command);
      const { printer } = context;
      const details = await readSimDetails(await connect(context), asset, type);
      printer.result(details, () => renderSimDetails(details, unixNow(io.clock), printer.theme, printer.width));
    });
}

const SHOW_HELP = `
The operator's count is of everything that goes over a SIM; the agent's is of its own traffic. What is neither is the traffic
of apps and of the system. A warning says where the agent counted more than the operator.
Times are UTC. Units are decimal: 1 MB is 1,000,000 bytes.`;

export function addSimsRefresh(sims: Command, io: Io): void {
  sims
    .command("refresh")
    .description("have the operators asked for an asset's SIMs now, and show what is different")
    .argument(...ASSET)
    .addArgument(simArgument("[type]"))
    .addHelpText(
      "after",
      "\nAn operator is asked at most once a minute for each SIM; within it its last answer counts.",
    )
    .action(async (asset: string, type: SimType | undefined, _options: unknown, command: Command) => {
      const context = createContext(io, command);
      const { printer } = context;
      const { refreshed, failure } = await refreshSims(await connect(context), asset, type);
      // What was learned of the other SIM is shown also if one fails.
      if (!failure || refreshed.length > 0) {
        printer.result({ sims: refreshed }, () => renderRefreshed(refreshed, unixNow(io.clock), printer.theme));
      }
      if (failure !== undefined) throw failure;
    });
}
