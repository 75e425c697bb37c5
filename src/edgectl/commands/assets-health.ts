import { type Command, Option } from "commander";
import { getAsset } from "../api/assets.ts";
import type { ApiClient } from "../api/client.ts";
import { getHealth } from "../api/history.ts";
import { connect, createContext } from "../context.ts";
import { Failure } from "../failure.ts";
import type { Io } from "../io.ts";
import { describeAbsence, renderHealth } from "../views/health-view.ts";
import { ASSET, timeParser, wholeNumber } from "./options.ts";

/** A table of so many rows fits on a screen. 48 hours that begin within a step of two hours touch one more than 24. */
const DEFAULT_POINTS = 25;
const MAX_POINTS = 200;
const DAY_S = 86_400;

interface HealthOptions {
  readonly from?: number;
  readonly to?: number;
  readonly points: number;
  readonly source?: string;
  readonly apps?: boolean;
}

export function addAssetsHealth(assets: Command, io: Io): void {
  const time = timeParser(io.clock, "Write 2026-11-01, 2026-11-01T12:00 (UTC), 24h or 7d ago, or Unix seconds.");
  assets
    .command("health")
    .description("show how the device of an asset was: processors, memory, disk, temperature")
    .argument(...ASSET)
    .option("--from <time>", "from then on; 48 hours before the end if not given", time)
    .option("--to <time>", "up to then; now if not given", time)
    .option("--points <n>", "at most so many rows", wholeNumber(1, MAX_POINTS), DEFAULT_POINTS)
    .addOption(
      new Option("--source <who>", "ask the device, or the service alone; without it, the one that has it").choices([
        "device",
        "service",
      ]),
    )
    .option("--apps", "also what each app used")
    .addHelpText(
      "after",
      "\nTimes are UTC: 2026-11-01, 2026-11-01T12:00, 24h or 7d ago, or Unix seconds. As CSV: ?format=csv of the API.",
    )
    .action(async (asset: string, options: HealthOptions, command: Command) => {
      const context = createContext(io, command);
      const { printer } = context;
      const client = await connect(context);
      const health = await getHealth(client, asset, options).catch(async (error: unknown) => {
        throw await explainRefusal(client, asset, error);
      });
      // What the device was not asked for may be because it is away. The document is that of the API.
      const mayBeAway = health.source === "service" && !printer.json;
      const away = mayBeAway ? await readAbsence(client, asset) : undefined;
      printer.result(health, () => renderHealth(health, away, printer.theme, printer.width));
    });
}

/** Returns what is known of a device that is not connected; `undefined` if it is. */
async function readAbsence(client: ApiClient, asset: string): Promise<string | undefined> {
  const { connected, last_seen: lastSeen } = await getAsset(client, asset);
  if (connected !== false) return undefined;
  if (typeof lastSeen !== "number") return describeAbsence(lastSeen, undefined);
  const range = { from: Math.max(0, lastSeen - DAY_S), to: lastSeen + 1 };
  return describeAbsence(lastSeen, await getHealth(client, asset, { ...range, points: MAX_POINTS, source: "service" }));
}

/** Returns the refusal to ask a device that is away, with since when it is and what it has sent last. */
async function explainRefusal(client: ApiClient, asset: string, error: unknown): Promise<unknown> {
  if (!(error instanceof Failure) || error.code !== "DeviceNotReachable") return error;
  // Without it, the refusal itself says enough: a second failure would hide it.
  const away = await readAbsence(client, asset).catch(() => undefined);
  if (away === undefined) return error;
  const { exitCode, code, details } = error;
  const hint = "Without `--source device`, what it has sent before is shown.";
  return new Failure(`${error.message.replace(/\.?$/, ".")} ${away}`, { exitCode, code, details, hint, cause: error });
}
