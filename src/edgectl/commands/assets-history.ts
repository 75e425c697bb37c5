import { type Command, Option } from "commander";
import { unixNow } from "../../lib/clock.ts";
import { DEFAULT_HISTORY_DAYS, type UptimePeriod, uptimePeriodSchema } from "../../protocol/assets/connectivity.ts";
import { getConnectivity, getUptime } from "../api/history.ts";
import { connect, createContext } from "../context.ts";
import type { Io } from "../io.ts";
import { renderHistory } from "../views/history-view.ts";
import { addPagingOptions, ASSET, listPages, noteMorePages, type PagingOptions, timeParser } from "./options.ts";

const DAY_S = 86_400;

interface HistoryOptions extends PagingOptions {
  readonly from?: number;
  readonly to?: number;
  readonly per: UptimePeriod;
}

export function addAssetsHistory(assets: Command, io: Io): void {
  const time = timeParser(io.clock, "Write 2026-11-01, 2026-11-01T12:00 (UTC), 24h or 7d ago, or Unix seconds.");
  const history = assets
    .command("history")
    .description("show when the device of an asset was connected, why it was not, and its uptime")
    .argument(...ASSET)
    .option("--from <time>", `from then on; ${DEFAULT_HISTORY_DAYS} days ago if not given`, time)
    .option("--to <time>", "up to then; now if not given", time)
    .addOption(
      new Option("--per <period>", "the periods of the chart").choices(uptimePeriodSchema.options).default("day"),
    )
    .addHelpText(
      "after",
      "\nTimes are UTC: 2026-11-01, 2026-11-01T12:00, 24h or 7d ago, or Unix seconds. As CSV: ?format=csv of the API.",
    );
  addPagingOptions(history).action(async (asset: string, options: HistoryOptions, command: Command) => {
    const context = createContext(io, command);
    const { printer } = context;
    const client = await connect(context);
    // The same for all requests: the service's default moves on with the clock.
    const to = options.to ?? unixNow(io.clock);
    const range = { from: options.from ?? to - DEFAULT_HISTORY_DAYS * DAY_S, to };
    const uptime = await getUptime(client, asset, { ...range, per: options.per });
    const { items: spans, next } = await listPages(options, async (position) => {
      const page = await getConnectivity(client, asset, { ...range, ...position });
      return { items: page.spans, next: page.next_cursor };
    });
    printer.result({ uptime, spans, next_cursor: next }, () =>
      renderHistory({ uptime, spans, per: options.per }, printer.theme, printer.width),
    );
    noteMorePages(printer, next);
  });
}
